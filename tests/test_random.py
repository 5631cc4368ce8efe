"""The random streams: ChaCha12, keys, substreams, draws."""

from __future__ import annotations

import math
import random as python_random

import peer
import pytest

from serq.interp.faults import Fault
from serq.interp.random import MASK32, MASK64, Rng, Streams, seeded

KINDS = {1: "workload", 2: "statements", 3: "leg"}


# --- a second opinion, written word by word from the published algorithms ------------------------


def chacha12_block(key: list[int], counter: int) -> list[int]:
    """One block by the quarter-round definition of ChaCha (Bernstein 2008), six double rounds."""
    state = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key]
    state += [counter & MASK32, counter >> 32, 0, 0]
    x = list(state)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for p, q, r, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & MASK32
            x[r] ^= x[p]
            x[r] = (x[r] << turn | x[r] >> (32 - turn)) & MASK32

    for _ in range(6):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return [(a + b) & MASK32 for a, b in zip(x, state, strict=True)]


def key_of(seed: int) -> list[int]:
    """Eight words of the PCG32 sequence of a seed."""
    key = []
    for _ in range(8):
        seed = (seed * 6364136223846793005 + 11634580027462260723) & MASK64
        word = (((seed >> 18) ^ seed) >> 27) & MASK32
        turn = seed >> 59
        key.append((word >> turn | word << (32 - turn)) & MASK32)
    return key


def uniforms(seed: int, count: int) -> list[float]:
    """Uniforms of the generator keyed by ``seed``, two words each, the low one first."""
    key, words = key_of(seed), []
    for counter in range(count // 8 + 1):
        words += chacha12_block(key, counter)
    return [((words[2 * i] | words[2 * i + 1] << 32) >> 11) * 2.0**-53 for i in range(count)]


def mix(x: int) -> int:
    """splitmix64's output function of the next state."""
    z = (x + 0x9E3779B97F4A7C15) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def substream_seed(seed: int, serial: int, turn: int, kind: int) -> int:
    """The mixing of a run's seed with session, turn and kind."""
    h = mix(seed)
    for part in (serial, turn, kind):
        h = mix(h ^ part)
    return h


# --- streams ------------------------------------------------------------------------------------


def test_splitmix_is_the_published_one():
    """The first outputs of splitmix64 from state 0 are the published ones."""
    golden = 0x9E3779B97F4A7C15
    assert mix(0) == 0xE220A8397B1DCDAF
    assert mix(golden) == 0x6E789E6AA1B965F4


@pytest.mark.parametrize("seed", [0, 1, 5, 0x5851F42D4C957F2D, MASK64])
def test_a_seeded_stream_is_chacha12_of_its_key(seed):
    """A stream gives the uniforms of its seed's generator in order, over many refills."""
    stream = seeded(seed)
    assert [stream.uniform() for _ in range(300)] == uniforms(seed, 300)


@pytest.mark.parametrize("kind", KINDS)
def test_substreams_do_not_depend_on_who_is_asked_when(kind):
    """A session's stream is its own seed's, whatever other streams were read before."""
    pick = python_random.Random(kind)
    streams = Streams(7)
    serials = [0, 1, 5, 127, 128, 255, 256, 100_000]
    turns = [0] if kind == 2 else [0, 1, 2, 3, 4, 7, 8, 127, 128, 129, 1000]
    cases = [(s, t) for s in serials for t in turns]
    pick.shuffle(cases)
    for serial, turn in cases:
        count = pick.choice([1, 8, 9, 40])
        make = getattr(streams, KINDS[kind])
        stream = make(serial) if kind == 2 else make(serial, turn)
        expected = uniforms(substream_seed(7, serial, turn, kind), count)
        assert [stream.uniform() for _ in range(count)] == expected, (serial, turn)


def test_a_long_substream_goes_on():
    """A substream read for thousands of uniforms is the plain sequence of its blocks."""
    stream = Streams(3).statements(9)
    expected = uniforms(substream_seed(3, 9, 0, 2), 4200)
    assert [stream.uniform() for _ in range(4200)] == expected


def test_forgotten_tiles_come_again(monkeypatch):
    """When more streams are open than are kept ready, every one still goes on correctly."""
    monkeypatch.setattr("serq.interp.random._MAX_TILES", 2)
    streams = Streams(1)
    open_streams = {s: streams.statements(s) for s in range(0, 4000, 400)}
    read = {s: [stream.uniform() for _ in range(9)] for s, stream in open_streams.items()}
    for serial, stream in open_streams.items():
        read[serial] += [stream.uniform() for _ in range(20)]
        assert read[serial] == uniforms(substream_seed(1, serial, 0, 2), 29)


def test_arrivals_and_machine_have_streams_of_their_own():
    """The arrival stream is keyed by the seed itself, the machine's by the seed and a constant."""
    streams = Streams(11)
    assert streams.arrivals().uniform() == uniforms(11, 1)[0]
    assert streams.machine().uniform() == uniforms(11 ^ 0x5851F42D4C957F2D, 1)[0]


def test_the_choice_from_a_trace():
    """Seed 5 picks these of ten recorded sessions (the example of the specification)."""
    choose = Streams(5).trace(10)
    assert [choose() for _ in range(12)] == [4, 3, 4, 8, 3, 7, 3, 2, 6, 7, 3, 7]


# --- draws --------------------------------------------------------------------------------------


def draw_by_hand(name: str, parameters: tuple[float, ...], u: list[float]) -> float:
    """The inverse-CDF formulas of the specification on uniforms taken from the front of ``u``."""
    if name == "exp":
        return -parameters[0] * math.log(1 - u.pop(0))
    if name == "between":
        low, high = parameters
        return low + (high - low) * u.pop(0)
    if name == "bernoulli":
        return float(u.pop(0) < parameters[0])
    if name == "erlang":
        k = max(1, math.floor(parameters[0]))
        return sum(-(parameters[1] / k) * math.log(1 - u.pop(0)) for _ in range(k))
    mean, cv2 = parameters
    v = max(cv2, 1.0)
    p = (1 + math.sqrt((v - 1) / (v + 1))) / 2
    first = u.pop(0) < p
    return -(mean / (2 * (p if first else 1 - p))) * math.log(1 - u.pop(0))


DRAWS = [
    ("exp", (2.5,)), ("between", (-1.0, 3.0)), ("between", (3.0, 1.0)), ("bernoulli", (0.3,)),
    ("bernoulli", (1.5,)), ("bernoulli", (-1.0,)), ("erlang", (3.0, 2.0)), ("erlang", (2.9, 2.0)),
    ("erlang", (0.0, 2.0)), ("h2", (1.3, 7.7)), ("h2", (1.0, 0.5)), ("h2", (3.0, 1e30)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), DRAWS)
def test_draws_follow_the_formulas(name, parameters):
    """Each draw is the stated function of the stream's next uniforms and takes no others."""
    stream = seeded(4)
    u = uniforms(4, 400)
    got = [getattr(stream, name)(*parameters) for _ in range(100)]
    assert got == [draw_by_hand(name, parameters, u) for _ in range(100)]
    assert stream.uniform() == u[0]


@pytest.mark.parametrize(
    ("name", "parameters", "mean", "cv2"),
    [
        ("exp", (2.0,), 2.0, 1.0),
        ("between", (1.0, 3.0), 2.0, 4 / (3 * 16)),
        ("erlang", (4.0, 2.0), 2.0, 1 / 4),
        ("h2", (2.0, 4.0), 2.0, 4.0),
        ("bernoulli", (0.25,), 0.25, 3.0),
    ],
)
def test_draws_have_their_moments(name, parameters, mean, cv2):
    """Mean and squared coefficient of variation are those of the distribution."""
    stream = seeded(2)
    n = 60_000
    values = [getattr(stream, name)(*parameters) for _ in range(n)]
    m = math.fsum(values) / n
    v = math.fsum((x - m) ** 2 for x in values) / n
    assert m == pytest.approx(mean, rel=0.03)
    assert v / m**2 == pytest.approx(cv2, rel=0.08)


def test_odd_parameters_give_values_not_errors():
    """Parameters are not checked by a draw: inf and NaN go through the formulas."""
    stream = seeded(1)
    assert stream.exp(math.inf) == math.inf
    assert stream.exp(-1.0) < 0
    assert math.isnan(stream.h2(1.0, math.inf))
    assert stream.h2(1.0, math.nan) > 0  # the squared coefficient is raised to 1
    assert stream.erlang(math.nan, 2.0) > 0  # one phase
    assert stream.bernoulli(math.nan) == 0.0


def test_an_endless_erlang_is_refused():
    """An Erlang draw of infinitely many phases is an error and not a hang."""
    with pytest.raises(Fault, match="would not end"):
        seeded(1).erlang(math.inf, 1.0)


# --- the generator for users --------------------------------------------------------------------


def test_rng_is_the_arrival_stream():
    """Rng(s) gives the uniforms of the arrival stream of a run seeded s."""
    rng, arrivals = Rng(8), Streams(8).arrivals()
    assert [rng.random_f64() for _ in range(50)] == [arrivals.uniform() for _ in range(50)]


def test_rng_ranges_include_their_ends():
    """Every value of a small range comes up, and none outside it."""
    rng = Rng(3)
    assert {rng.range_u32(4, 6) for _ in range(100)} == {4, 5, 6}
    assert {rng.range_u64(0, 1) for _ in range(100)} == {0, 1}
    assert rng.range_u32(7, 7) == 7
    assert all(-1.0 <= rng.range_f64(-1.0, 2.0) <= 2.0 for _ in range(100))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Rng(-1), OverflowError),
        (lambda: Rng(2**64), OverflowError),
        (lambda: Rng(1.5), TypeError),
        (lambda: Rng(1).range_u32(2, 1), ValueError),
        (lambda: Rng(1).range_u64(2, 1), ValueError),
        (lambda: Rng(1).range_f64(2.0, 1.0), ValueError),
        (lambda: Rng(1).range_f64(0.0, math.inf), ValueError),
        (lambda: Rng(1).range_f64(math.nan, 1.0), ValueError),
        (lambda: Rng(1).range_u32(-1, 1), OverflowError),
        (lambda: Rng(1).range_u32(0, 2**32), OverflowError),
        (lambda: Rng(1).range_u32(0.0, 1), TypeError),
    ],
)
def test_rng_refuses_what_is_no_range(call, error):
    """A seed or a range that makes no sense is an error of the fitting kind."""
    with pytest.raises(error):
        call()


@peer.needs_peer
@pytest.mark.parametrize("seed", [0, 1, 123456789012345, MASK64])
def test_rng_equals_the_reference(seed):
    """A long mixture of calls gives the reference build's numbers."""
    pick = python_random.Random(seed)
    menu = [
        ("next_u32",), ("next_u64",), ("random_f64",), ("range_u32", 0, 9), ("range_u32", 5, 2**31),
        ("range_u32", 0, MASK32), ("range_u64", 3, 2**63 + 11), ("range_u64", 0, MASK64),
        ("range_u64", 0, 0), ("range_f64", -1.0, 1.3), ("range_f64", 0.0, 1e308),
    ]  # fmt: skip
    calls = [pick.choice(menu) for _ in range(3000)]
    rng = Rng(seed)
    assert [getattr(rng, name)(*args) for name, *args in calls] == peer.rng(seed, calls)


PROGRAM = """
fn main() {
    stage s : delay;
    workload {
        arrive batch(40);
        init { observe a = DRAW; }
        turn { observe b = DRAW; }
        session { observe c = DRAW; turn; turn; observe c = DRAW; }
    }
    server { observe c = DRAW; run s (cost(s, 1)); }
}
"""


@peer.needs_peer
@pytest.mark.parametrize(("name", "parameters"), DRAWS)
def test_a_run_draws_these_numbers(name, parameters):
    """init, turn and session blocks of the reference build draw from the streams given here."""
    text = "uniform" if name == "between" else name
    program = PROGRAM.replace("DRAW", f"~{text}({', '.join(map(str, parameters))})")
    found = peer.samples(program, horizon=10, seed=5)["observes"]
    streams = Streams(5)

    def drawn(stream, count):
        return [getattr(stream, name)(*parameters) for _ in range(count)]

    by_session: dict[str, dict[int, list[float]]] = {}
    for observe, (values, _, sessions, _) in found.items():
        for value, session in zip(values, sessions, strict=True):
            by_session.setdefault(observe, {}).setdefault(session, []).append(value)
    for serial in range(40):
        assert by_session["a"][serial] == drawn(streams.workload(serial, 0), 1)
        turns = [drawn(streams.workload(serial, turn), 1)[0] for turn in (1, 2)]
        assert by_session["b"][serial] == turns
        assert by_session["c"][serial] == drawn(streams.statements(serial), 4)
