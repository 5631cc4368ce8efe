"""`serq target`: which engines are vLLM's, and why another is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import serq
from serq.api import load
from serq.diagnostics import SerqError
from serq.target import vllm_config

EXAMPLES = Path(__file__).parent.parent / "examples"

PROGRAM = """
fn main() {{
  device gpu {{ kv cap {cap}; }}
  engine vllm on gpu {{
    reqs cap 8;
    tokens cap {tokens};
    {granule}
    request (prompt, output) {{
      prefill (prompt) growing kv;
      decode (output - 1) growing kv;
      {cache}
    }}
    schedule {{
      {schedule}
        taking reqs (1), kv (min(prompt, budget_left(vllm))) reserve (prompt);
    }}
    execute (1);
  }}
  pool kv on gpu {{ block 16; evict {evict}; preempt {preempt}; {kv} }}
  pool reqs on vllm {{ queue {queue}; }}
  {stage}
  workload {{
    arrive poisson(1);
    hidden o;
    turn {{ set n = 20; set o = 3; set priority = floor(~uniform(0, 3)); }}
  }}
  server {{ set t0 = now; {server} vllm (n, o); }}
}}
"""

VLLM = {
    "cap": "160", "tokens": "64", "granule": "", "cache": "cache (prompt + output);",
    "schedule": "advance running; admit waiting while (running.preempted == 0)",
    "evict": "lru", "preempt": "lifo", "kv": "", "queue": "fifo", "stage": "", "server": "",
}  # fmt: skip

N = "running.count + waiting.count"


def _capped(cap: str) -> str:
    return (
        f"let c = {cap}; advance running each at most (c); "
        "admit waiting while (running.preempted == 0) each at most (c)"
    )


def _config(**changes: str) -> dict[str, object]:
    program = serq.compile(source=PROGRAM.format(**(VLLM | changes)), horizon=10)
    config = vllm_config(program.ir)["config"]
    assert isinstance(config, dict)
    return config


def test_the_engine_of_vllm_is_exported_whole() -> None:
    """Every field of the configuration comes from the program's declarations."""
    assert _config() == {
        "max_num_batched_tokens": 64,
        "max_num_seqs": 8,
        "block_size": 16,
        "num_gpu_blocks": 11,
        "long_prefill_token_threshold": 0,
        "scheduling_policy": "fcfs",
        "enable_prefix_caching": True,
    }


def test_prefix_caching_follows_the_cache_clause() -> None:
    """Without `cache` on the hold of the KV pool, prefix caching is off."""
    assert _config(cache="")["enable_prefix_caching"] is False


@pytest.mark.parametrize(
    "cap",
    [f"{N} > 1 ? 24 : inf", f"1 < {N} ? 24 : inf", f"{N} >= 2 ? 24 : inf",
     "waiting.count + running.count > 1 ? 24 : inf"],
)  # fmt: skip
def test_the_threshold_is_lifted_for_a_request_alone(cap: str) -> None:
    """A cap while more than one request runs or waits is vLLM's long-prefill threshold."""
    assert _config(schedule=_capped(cap))["long_prefill_token_threshold"] == 24


def test_the_adaptive_threshold_is_an_equal_share() -> None:
    """`max(t, floor(budget / n))` over the engine's own budget is vLLM's adaptive rule."""
    config = _config(schedule=_capped(f"{N} > 1 ? max(8, floor(64 / ({N}))) : inf"))
    assert config["long_prefill_token_threshold"] == 8
    assert config["long_prefill_token_threshold_adaptive"] is True


def test_the_priority_policy_is_recognised() -> None:
    """Keys (priority, arrival), reversed for the victim and requeued at the tail, are PRIORITY."""
    config = _config(queue="by (priority, t0)", preempt="by (-priority, -t0) requeue tail")
    assert config["scheduling_policy"] == "priority"


REFUSED = {
    "constant cap": ({"schedule": _capped("24")}, "each at most"),
    "another share": ({"schedule": _capped(f"{N} > 1 ? max(8, 32 - running.count) : inf")},
                      "each at most"),
    "only": ({"schedule": "advance running only (decoding); "
                          "admit waiting while (running.preempted == 0)"}, "schedule"),
    "no gate": ({"schedule": "advance running; admit waiting"}, "schedule"),
    "order": ({"schedule": "advance running decode first; "
                           "admit waiting while (running.preempted == 0)"}, "serving order"),
    "exclusive": ({"schedule": "exclusive prefill; "
                               "admit waiting while (running.preempted == 0)"}, "exclusive"),
    "granule": ({"granule": "granule 16;"}, "granule"),
    "eviction": ({"evict": "by (size)"}, "evict by"),
    "no preemption": ({"preempt": "none"}, "preempt none"),
    "another victim": ({"preempt": "by (position)"}, "preempt by"),
    "reserve held": ({"kv": "reserve held;"}, "reserve held"),
    "selection": ({"queue": "by (n)"}, "queue by"),
    "no budget": ({"tokens": "inf"}, "tokens cap"),
    "computed budget": ({"tokens": "64 - running.count"}, "tokens cap"),
    "fifo stage": ({"stage": "stage front : fifo;", "server": "run front (cost(front, 1));"},
                   "stage `front`"),
    "a third pool": ({"stage": "pool slots { cap 4; }"}, "the pools"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_vllm_cannot_run_is_refused_by_name(name: str) -> None:
    """The refusal names the construct."""
    changes, words = REFUSED[name]
    with pytest.raises(SerqError) as caught:
        _config(**changes)
    assert any(d.code == "target-vllm" and words in d.message for d in caught.value.diagnostics)


ENGINES = {
    "multi-turn/vllm.sq": None,
    "multi-turn/vllm_chat.sq": None,
    "single-turn/vllm_single_turn.sq": None,
    "engines/sglang.sq": "the schedule of engine `sglang`",
    "engines/tensorrt_llm.sq": "`granule` of engine `trtllm`",
    "engines/tgi.sq": "the schedule of engine `tgi`",
    "single-turn/fastertransformer.sq": "the schedule of engine `ft`",
    "single-turn/separate_phases.sq": "`exclusive prefill` of engine `v0`",
    "single-turn/ascend_aging.sq": "the pools",
    "multi-turn/replica.sq": "the serving order of engine `replica`",
    "multi-turn/routing.sq": "4 engines",
    "vendors/tpu.sq": "`granule` of engine `tpu_vllm`",
    "vendors/gaudi.sq": None,
    "pd-disaggregation/llmd_nixl_pull.sq": "4 engines",
    "single-turn/mg1.sq": "no engine",
}


@pytest.mark.parametrize("name", ENGINES)
def test_engine_examples(name: str) -> None:
    """Each engine example is exported, or refused for its own reason."""
    loaded = load(EXAMPLES / name, need_horizon=False)
    reason = ENGINES[name]
    if reason is None:
        assert vllm_config(loaded.program, loaded.source_map)["config"]["max_num_seqs"] > 0
        return
    with pytest.raises(SerqError) as caught:
        vllm_config(loaded.program, loaded.source_map)
    assert any(reason in d.message for d in caught.value.diagnostics)
