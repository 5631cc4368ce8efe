"""What the language's names mean, in a sentence each: hover texts, and the reference's tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """How a name is written in use, and what it is."""

    usage: str
    text: str


def _table(rows: str) -> dict[str, Meaning]:
    """``name | usage | text`` a line."""
    cells = [[cell.strip() for cell in row.split(" | ")] for row in rows.strip().splitlines()]
    return {name: Meaning(usage, text) for name, usage, text in cells}


FUNCTIONS = _table("""
min | min(a, b) | The smaller of exactly two numbers; a NaN operand is ignored.
max | max(a, b) | The larger of exactly two numbers; a NaN operand is ignored.
abs | abs(x) | The absolute value.
floor | floor(x) | Rounded towards −∞.
ceil | ceil(x) | Rounded towards +∞.
sqrt | sqrt(x) | The square root; NaN below 0.
exp | exp(x) | e to the power x.
ln | ln(x) | The natural logarithm; −inf at 0, NaN below.
pow | pow(x, y) | x to the power y, as `x ^ y`.
queue | queue(s) | Jobs at stage `s`, waiting and in service.
busy | busy(s) | Jobs in service at stage `s`; on an engine, those of the current iteration.
work | work(s) | Unfinished work at stage `s`, in its unit: time, on an engine tokens.
est_lambda | est_lambda(s) | The measured rate of stage `s`, per unit of the clock.
est_rho | est_rho(s) | The measured utilisation of stage `s`, below 1.
est_wait | est_wait(s) | The measured mean wait at stage `s`.
price | price(s, hit, ds) | What `ds` more work at stage `s` costs everybody there in waiting.
budget_left | budget_left(e) | Tokens that the iteration of engine `e` has left for this request.
used | used(p) | Allocated units of pool `p`, leases included, cached prefixes not.
free | free(p) | The pool's cap less `used(p)`; cached prefixes do not count.
cachedin | cachedin(p) | The session's own cached units in pool `p`; 0 where there is no session.
holders | holders(p) | Sessions that hold units of pool `p`.
queued | queued(p) | Sessions that wait to be admitted to pool `p`.
""")

COUNTERS = _table("""
preemptions | preemptions(p) | Preemptions from pool `p`, or of the requests of an engine, up to now.
rejected | rejected(p) | Sessions refused because they asked more of pool `p` than its cap; of an engine, those refused at the queues it admits.
stuck | stuck(p) | Sessions preempted again without getting past their last preemption.
recomputed | recomputed(p) | Units that preempted sessions had computed and, admitted again, did not find cached.
""")  # noqa: E501

CONVERSIONS = _table("""
cost | cost(r, …, e) | The quantity `e` as work or units of the resources named: what `run` and `hold` take.
blocksize | blocksize(p) | The `block` of pool `p`, put in as a number.
sum | sum j in n (e) | The sum of `e` with j = 0 … n − 1, written out; `max` and `min` likewise.
""")  # noqa: E501

AGGREGATES = _table("""
total | total(o) | The sum of what was observed under `o`, warm-up included.
count | count(o) | How many values were observed under `o`.
largest | largest(o) | The largest value observed under `o`; 0 when there is none.
smallest | smallest(o) | The smallest value observed under `o`; 0 when there is none.
prefix_total | prefix_total(o) | Σ (v₁ + … + vₖ) over the values of `o` in ascending order.
""")

DISTRIBUTIONS = _table("""
exp | ~exp(mean) | Exponential, by its mean. CV² 1.
det | ~det(x) | The number x itself, which takes nothing from the stream. CV² 0.
uniform | ~uniform(lo, hi) | Uniform from lo to hi. CV² (hi − lo)² / (3 (lo + hi)²).
erlang | ~erlang(k, mean) | Sum of k exponentials, with this total mean. CV² 1/k.
h2 | ~h2(mean, cv2) | Two exponentials mixed, balanced; CV² is cv2, at least 1.
bernoulli | ~bernoulli(p) | 1 with probability p, else 0. CV² (1 − p)/p.
""")

VARIABLES = _table("""
now | now | The clock.
waited | waited | Time since this hold joined its queue; it starts again when it joins again.
size | size | Units of the cache entry.
last | last | When the cache entry was released.
age | age | Time since then: `now - last`.
waiting | waiting | 1 if the entry's session waits in some pool's queue.
present | present | Jobs at the `ps` stage.
decoding | decoding | 1 if the request is in a decode run.
admission | admission | The request's place in the order of admission.
remaining | remaining | Tokens that the request's run has left.
position | position | How far the candidate's hold on this pool has been computed.
residents | residents | Requests running on the engine.
decoders | decoders | Decodes in the iteration's batch.
kv_decode | kv_decode | Units of the engine's memory that the batch's decodes hold.
kv_prefill | kv_prefill | Units of the engine's memory that the batch's prefills hold.
tokens | tokens | Tokens in the iteration's batch.
prefilled | prefilled | Prefill tokens in the iteration's batch.
attention | attention | Σ n·(K + n/2) over the batch's prefill chunks of n tokens at position K.
demand | demand | Tokens that the residents could take in this iteration, had it no budget.
served | served | Tokens that the engine scheduled in earlier iterations.
arrived | arrived | Sessions that the workload has started by now.
self | self | In a queue's entry: the index of this member of the family.
inf | inf | Infinity.
""")

LISTS = _table("""
running.count | running.count | Requests running on the engine.
running.decoding | running.decoding | Those of them that decode.
running.kv_decode | running.kv_decode | Units of the engine's memory that they hold, the decoding ones.
running.kv_prefill | running.kv_prefill | The same of the prefilling ones.
running.preempted | running.preempted | Requests that this iteration has preempted so far.
waiting.count | waiting.count | Requests in the queues that the engine admits.
waiting.admitted | waiting.admitted | Requests that this iteration has admitted so far.
batch.tokens | batch.tokens | Tokens in the batch; in a schedule, those scheduled so far.
batch.prefilled | batch.prefilled | Prefill tokens in the batch; in a schedule, those so far.
batch.decoding | batch.decoding | Decodes in the batch.
batch.kv_decode | batch.kv_decode | Units of the engine's memory that the batch's decodes hold.
batch.kv_prefill | batch.kv_prefill | Units of the engine's memory that the batch's prefills hold.
batch.attention | batch.attention | Σ n·(K + n/2) over the batch's prefill chunks of n tokens at position K.
""")  # noqa: E501

ATTRIBUTES = _table("""
serial | serial | The session's number in order of arrival, from 0.
turn_no | turn_no | Turns so far; 1 during the first.
cached | cached | Units of the own prefix that the last admission found and took.
computed | computed | Where the last preemption caught the hold; 0 on its first execution.
new | new | With a trace: new tokens of this turn.
out | out | With a trace: output tokens of this turn.
think | think | With a trace: the client's time after this turn.
more | more | With a trace: 1 while another turn follows.
forced | forced | With a trace: its optional sixth column.
""")


def meaning(name: str) -> Meaning | None:
    """What a name that the language gives a meaning stands for; dotted names included."""
    for table in (
        LISTS, VARIABLES, ATTRIBUTES, CONVERSIONS, FUNCTIONS, COUNTERS, AGGREGATES, DISTRIBUTIONS,
    ):  # fmt: skip
        if name in table:
            return table[name]
    return None
