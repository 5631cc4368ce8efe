"""The random streams of a run: the exact numbers that a seed stands for.

Every stream is ChaCha12 keyed by a 64-bit seed, read as 32-bit words in order; a 64-bit value is
two words, the low one first, and a uniform is the upper 53 bits of one. Arrivals, the choice from
an unordered trace and the scheduler each have one stream; a session has one for its statements,
one for each turn's workload block and one per leg, whose seeds are mixed from the run's seed, the
session's serial number, the turn and the kind. So the same seed gives the same marks under any
deployment.

Blocks are computed with numpy for many streams or many blocks at a time. The substreams of
neighbouring sessions and turns come together in one *tile*; a stream that nobody draws from costs
one small object.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log, nan, sqrt

import numpy as np
import numpy.typing as npt

from serq.interp.faults import Fault

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
F64 = npt.NDArray[np.float64]

MASK32 = (1 << 32) - 1
MASK64 = (1 << 64) - 1

KIND_WORKLOAD = 1
KIND_STATEMENTS = 2
KIND_LEG = 3

_MACHINE = 0x5851F42D4C957F2D
_EVICTION = 0x2545F4914F6CDD1D
_TRACE = 0x6A09E667F3BCC908

_LANES = 256
"""Streams in one tile: enough that numpy's cost per call does not count."""
_MANY = 2048
"""Streams in one tile once there are so many sessions."""
_MAX_TILES = 256
"""Tiles kept (16 to 128 KB each); the oldest go first and are computed again when asked for."""
_MAX_BLOCKS = 512
"""Blocks that one stream fetches at once when it is read on and on."""

_MAX_PHASES = 10_000_000
"""Phases of one Erlang draw; more is an error, not a run that seems to hang."""

_ROUNDS = 12
_ROTATIONS = tuple(
    tuple((np.uint32(bits), np.uint32(32 - bits)) for bits in pair) for pair in ((12, 16), (7, 8))
)
"""The bits to the left and right of a quarter round's rotations: of row b, of row d, twice."""
_WORDS_OF_EXPAND = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)  # "expand 32-byte k"


# --- ChaCha12 -----------------------------------------------------------------------------------


def _mix(x: U64) -> U64:
    """The splitmix64 output function of ``x`` plus the golden-ratio increment, per element."""
    z = x + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _keys(seeds: U64) -> U32:
    """The 256-bit keys of seeds, shape (8, n): eight outputs of a PCG32 sequence each."""
    state = seeds.copy()
    keys = np.empty((8, len(seeds)), np.uint32)
    for i in range(8):
        state = state * np.uint64(6364136223846793005) + np.uint64(11634580027462260723)
        x = (((state >> np.uint64(18)) ^ state) >> np.uint64(27)).astype(np.uint32)
        turn = (state >> np.uint64(59)).astype(np.uint32)
        keys[i] = (x >> turn) | (x << (-turn & np.uint32(31)))
    return keys


def _blocks(keys: U32, counters: U64) -> U32:
    """ChaCha12 blocks, shape (n, 16): the block of ``keys[:, i]`` at ``counters[i]``."""
    n = keys.shape[1]
    start = np.empty((16, n), np.uint32)
    for row, word in enumerate(_WORDS_OF_EXPAND):
        start[row] = word
    start[4:12] = keys
    start[12] = counters & np.uint64(MASK32)
    start[13] = counters >> np.uint64(32)
    start[14:] = 0
    a, b, c, d = (start[row : row + 4].copy() for row in (0, 4, 8, 12))
    spare = np.empty_like(a)

    def add_xor_rotate(x: U32, y: U32, z: U32, left: np.uint32, right: np.uint32) -> None:
        np.add(x, y, out=x)
        np.bitwise_xor(z, x, out=z)
        np.left_shift(z, left, out=spare)
        np.right_shift(z, right, out=z)
        np.bitwise_or(z, spare, out=z)

    # Rows 1 to 3 are kept rotated after a column round, so that the diagonals stand in columns.
    for diagonal in (1, 3) * (_ROUNDS // 2):
        for of_b, of_d in _ROTATIONS:
            add_xor_rotate(a, b, d, *of_d)
            add_xor_rotate(c, d, b, *of_b)
        b, spare = np.concatenate((b[diagonal:], b[:diagonal]), out=spare), b
        c, spare = np.concatenate((c[2:], c[:2]), out=spare), c
        d, spare = np.concatenate((d[-diagonal:], d[:-diagonal]), out=spare), d
    words = np.concatenate((a, b, c, d))
    words += start
    return np.ascontiguousarray(words.T)


def _uniforms(blocks: U32) -> F64:
    """Eight uniforms on [0, 1) per block, shape (n, 8)."""
    pairs = blocks.astype(np.uint64)
    whole = pairs[:, 0::2] | (pairs[:, 1::2] << np.uint64(32))
    return (whole >> np.uint64(11)).astype(np.float64) * 2.0**-53


# --- streams ------------------------------------------------------------------------------------


EMPTY: list[float] = []
"""Nothing drawn ahead; nobody changes it."""


class Stream:
    """Uniforms and draws in the order of one stream."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer: list[float] = EMPTY

    def _more(self) -> list[float]:
        """The next uniforms, in *reverse* order, when the buffer has run dry."""
        raise NotImplementedError

    def uniform(self) -> float:
        """The next U, uniform on [0, 1)."""
        if not self._buffer:
            self._buffer = self._more()
        return self._buffer.pop()

    def exp(self, mean: float) -> float:
        """An exponential draw with this mean, −mean·ln(1 − U); one uniform."""
        if not self._buffer:
            self._buffer = self._more()
        return -mean * log(1.0 - self._buffer.pop())

    def between(self, low: float, high: float) -> float:
        """A uniform draw, low + (high − low)·U; one uniform."""
        if not self._buffer:
            self._buffer = self._more()
        return low + (high - low) * self._buffer.pop()

    def erlang(self, phases: float, mean: float) -> float:
        """The sum of ⌊phases⌋ (at least 1) exponential draws of mean mean/⌊phases⌋."""
        if phases > _MAX_PHASES:
            raise Fault(
                "erlang-phases",
                f"an Erlang draw of {phases:g} phases would not end",
                f"at most {_MAX_PHASES:,} phases are drawn",
            )
        count = floor(phases) if phases >= 1.0 else 1  # also for NaN
        total = 0.0
        for _ in range(count):
            total += self.exp(mean / count)
        return total

    def h2(self, mean: float, cv2: float) -> float:
        """A hyperexponential draw with balanced means; cv2 is raised to 1; two uniforms."""
        v = cv2 if cv2 > 1.0 else 1.0
        p = (1.0 + sqrt((v - 1.0) / (v + 1.0))) / 2.0 if v < _HUGE else nan
        rate = p if self.uniform() < p else 1.0 - p
        return self.exp(mean / (2.0 * rate))

    def bernoulli(self, p: float) -> float:
        """1 if U < p, else 0; one uniform."""
        if not self._buffer:
            self._buffer = self._more()
        return 1.0 if self._buffer.pop() < p else 0.0


_HUGE = float("inf")


class _Words:
    """The 32-bit words of the generator keyed by one seed, ``blocks`` at a time."""

    __slots__ = ("_counter", "_key", "_size")

    def __init__(self, seed: int) -> None:
        self._key = _keys(np.array([seed], np.uint64))
        self._counter = 0
        self._size = 4

    def more(self) -> U32:
        """The next blocks, shape (n, 16); each time twice as many, up to a limit."""
        n = self._size
        counters = np.arange(self._counter, self._counter + n, dtype=np.uint64)
        self._counter += n
        self._size = min(2 * n, _MAX_BLOCKS)
        return _blocks(np.broadcast_to(self._key, (8, n)), counters)


class _Seeded(Stream):
    __slots__ = ("_words",)

    def __init__(self, seed: int) -> None:
        self._buffer = []
        self._words = _Words(seed)

    def _more(self) -> list[float]:
        buffer: list[float] = _uniforms(self._words.more()).ravel()[::-1].tolist()
        return buffer


def seeded(seed: int) -> Stream:
    """The stream keyed by ``seed`` (0 … 2⁶⁴ − 1) itself."""
    return _Seeded(seed)


class Substream(Stream):
    """A stream of a session: the first block comes with its neighbours', later ones likewise."""

    __slots__ = ("_group", "_kind", "_number", "_streams", "serial")

    def __init__(self, streams: Streams, serial: int, number: int, kind: int) -> None:
        self._buffer = EMPTY
        self._streams = streams
        self.serial = serial
        self._number = number
        self._kind = kind
        self._group = 0

    def _more(self) -> list[float]:
        group = self._group
        self._group = group + 1
        if not group:
            number, start, uniforms = self._streams.newest[self._kind]
            i = 8 * (self.serial - start)
            if number == self._number and 0 <= i < len(uniforms):
                return uniforms[i : i + 8]
        return self._streams.fetch(self._kind, self.serial, self._number, group)


class Streams:
    """All random streams of a run with one seed (0 … 2⁶⁴ − 1)."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._mixed = _mix(np.array([seed], np.uint64))
        self._tiles: dict[tuple[int, int, int, int, int], F64] = {}
        # A part of the newest tile of one turn, per kind: its turn, its first session, its uniforms
        # as a list. Most sessions take theirs from it.
        self.newest: list[tuple[int, int, list[float]]] = [(0, 0, [])] * (KIND_LEG + 1)

    def arrivals(self) -> Stream:
        """The arrival stream, from its beginning."""
        return seeded(self.seed)

    def machine(self) -> Stream:
        """The scheduler's stream: costs, budgets, capacities."""
        return seeded(self.seed ^ _MACHINE)

    def eviction(self) -> Stream:
        """The stream of eviction keys and spills."""
        return seeded(self.seed ^ _EVICTION)

    def trace(self, count: int) -> Callable[[], int]:
        """A function that draws the next index 0 … count − 1 of an unordered trace."""
        rng = Rng(self.seed ^ _TRACE)
        return lambda: rng.range_u32(0, count - 1)

    def workload(self, serial: int, turn: int) -> Stream:
        """The stream of a session's ``init`` (turn 0) or of its turn block (turns from 1)."""
        return Substream(self, serial, turn, KIND_WORKLOAD)

    def statements(self, serial: int) -> Stream:
        """The stream of a session's and its server's statements, one for its life."""
        return Substream(self, serial, 0, KIND_STATEMENTS)

    def leg(self, serial: int, k: int) -> Stream:
        """The stream of the ``k``-th leg (from 0) that the session forks."""
        return Substream(self, serial, k, KIND_LEG)

    def fetch(self, kind: int, serial: int, turn: int, group: int) -> list[float]:
        """The uniforms, reversed, of block group ``group`` of one substream.

        Group 0 is block 0, group g the blocks 2^(g−1) … 2^g − 1, from a limit on fixed counts.
        The tile of group 0 spans twice as many turns and half as many sessions with each doubling
        of the turn, a later group's one turn and half as many sessions with each group: what is
        computed in vain stays within a constant factor of what is read.
        """
        lanes = _LANES if serial < _MANY else _MANY
        if group == 0:
            level = min(turn.bit_length(), 8)
            turns = 1 << max(level - 1, 0)
            serials = lanes // turns
            tile_key = (kind, -level, turn // turns, serial // serials, serials)
        else:
            turns = 1
            serials = lanes >> min(group, 8)
            tile_key = (kind, group, turn, serial // serials, serials)
        tile = self._tiles.get(tile_key)
        new = tile is None
        if tile is None:
            first = serial - serial % serials
            begin = turn - turn % turns
            width = 1 << min(max(group - 1, 0), 7)
            block = 0 if group == 0 else width if group <= 8 else width * (group - 7)
            tile = self._tile(kind, first, serials, begin, turns, block, width)
            if len(self._tiles) >= _MAX_TILES:
                del self._tiles[next(iter(self._tiles))]
            self._tiles[tile_key] = tile
        if group == 0 and turns == 1:
            number, start, _ = self.newest[kind]
            first = serial - serial % _LANES
            if new or (number == turn and first > start):  # never twice for the same sessions
                i = first % serials
                ahead = tile[i : i + _LANES, 0, ::-1].ravel().tolist()
                self.newest[kind] = turn, first, ahead
        buffer: list[float] = tile[serial % serials, turn % turns, ::-1].tolist()
        return buffer

    def _tile(
        self, kind: int, serial: int, serials: int, turn: int, turns: int, block: int, width: int
    ) -> F64:
        """Uniforms of shape (serials, turns, 8·width): blocks ``block`` … of each substream."""
        who = np.arange(serial, serial + serials, dtype=np.uint64)
        when = np.arange(turn, turn + turns, dtype=np.uint64)
        seeds = _mix(_mix(_mix(self._mixed ^ who)[:, None] ^ when) ^ np.uint64(kind)).ravel()
        keys = np.repeat(_keys(seeds), width, axis=1)
        counters = np.tile(np.arange(block, block + width, dtype=np.uint64), len(seeds))
        return _uniforms(_blocks(keys, counters)).reshape(serials, turns, 8 * width)


# --- the generator for users --------------------------------------------------------------------


class Rng:
    """The generator a run draws from; ``Rng(s)`` is the arrival stream of a run seeded ``s``.

    Errors: `TypeError` for a seed that is not an int, `OverflowError` for one outside
    0 … 2⁶⁴ − 1, `ValueError` for an empty range.
    """

    __slots__ = ("_buffer", "_words")

    def __init__(self, seed: int) -> None:
        if not isinstance(seed, int):
            raise TypeError(f"a seed is an int, not {type(seed).__name__}")
        if not 0 <= seed <= MASK64:
            raise OverflowError(f"a seed lies in 0 … 2⁶⁴ − 1, not {seed}")
        self._words = _Words(seed)
        self._buffer: list[int] = []

    def next_u32(self) -> int:
        """The next 32-bit word."""
        if not self._buffer:
            self._buffer = self._words.more().ravel()[::-1].tolist()
        return self._buffer.pop()

    def next_u64(self) -> int:
        """The next two words, the low one first."""
        low = self.next_u32()
        return low | self.next_u32() << 32

    def random_f64(self) -> float:
        """The next uniform on [0, 1): the upper 53 bits of `next_u64`, times 2⁻⁵³."""
        return (self.next_u64() >> 11) * 2.0**-53

    def range_u32(self, low: int, high: int) -> int:
        """A whole number in ``low`` … ``high``, ends included, both below 2³²."""
        return low + self._below(_span(low, high, 32), 32, self.next_u32)

    def range_u64(self, low: int, high: int) -> int:
        """A whole number in ``low`` … ``high``, ends included, both below 2⁶⁴."""
        return low + self._below(_span(low, high, 64), 64, self.next_u64)

    def range_f64(self, low: float, high: float) -> float:
        """A double from ``low`` to ``high``, low + (high − low)·k·2⁻⁵² with 52 random bits k."""
        if not low <= high:
            raise ValueError(f"the range {low} … {high} is empty")
        span = high - low
        if not span < _HUGE:
            raise ValueError(f"the range {low} … {high} is not bounded")
        return (self.next_u64() >> 12) * 2.0**-52 * span + low

    @staticmethod
    def _below(count: int, bits: int, word: Callable[[], int]) -> int:
        """An index below ``count``: the high half of word·count, corrected by a second word."""
        if count == 1 << bits:
            return word()
        high, low = divmod(word() * count, 1 << bits)
        if low > (1 << bits) - count:
            high += low + (word() * count >> bits) >> bits
        return high


def _span(low: int, high: int, bits: int) -> int:
    """How many whole numbers ``low`` … ``high`` are."""
    for end in (low, high):
        if not isinstance(end, int):
            raise TypeError(f"an end of the range is an int, not {type(end).__name__}")
        if not 0 <= end < 1 << bits:
            raise OverflowError(f"an end of the range lies in 0 … 2^{bits} − 1, not {end}")
    if low > high:
        raise ValueError(f"the range {low} … {high} is empty")
    return high - low + 1
