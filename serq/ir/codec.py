"""The JSON of a program: version 13 of the interchange format, in both directions.

`to_json` prints what the format's readers print themselves: two spaces a level, fields in the
order of the dataclasses, optional fields omitted where they say nothing. `from_json` takes what
they take (fields it does not know are ignored, absent optional fields get their defaults) and
otherwise says where in the document the fault is.

A construct that version 13 has no word for must not reach a reader that would pass over it. Such
a program lists the construct in ``extensions`` and carries the version `EXTENDED_VERSION`, which
every reader of 13 refuses; this reader refuses the extensions it does not know, by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from enum import Enum as PythonEnum
from typing import Any

from ..diagnostics import SerqError, Source, Span
from . import nodes as n
from .extensions import CLAIM_COUNTERS, EXTENDED_VERSION
from .jsontext import JsonError, TooLarge, parse
from .schema import (
    BadValue,
    Enum,
    Field,
    Fixed,
    Leaf,
    Many,
    Newtype,
    Nullable,
    Schema,
    Struct,
    Unit,
    Variant,
    attributes,
    decode,
    encode,
    expected,
    kind_of,
)

KNOWN_EXTENSIONS: frozenset[str] = frozenset({CLAIM_COUNTERS})
"""The extensions this reader understands."""


# --- leaves -------------------------------------------------------------------------------------


def number_text(value: float) -> str:
    """A double as the format spells it: ``20.0``, ``0.00001``, ``1e-6``, ``1.5e+16``.

    Shortest digits that read back as the same double; positional with a fraction for
    1e-5 <= |x| < 1e16.
    """
    text = repr(float(value))
    mantissa, e, exponent = text.partition("e")
    if not e:
        return text
    power = int(exponent)
    if power == -5:  # the only power that Python writes with an exponent and the format does not
        return format(Decimal(text), "f")
    return f"{mantissa.removesuffix('.0')}e{'-' if power < 0 else '+'}{abs(power)}"


def _read_finite(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise BadValue("ir-number", "the number is too large for a double") from None
    if isinstance(value, TooLarge):
        raise BadValue("ir-number", "the number is too large for a double")
    raise expected("a number", value)


def _read_real(value: Any) -> float:
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, str):
        raise BadValue(
            "ir-number", f'a number, "inf" or "-inf" is expected here, not {kind_of(value)}'
        )
    return _read_finite(value)


def _show_real(value: float) -> str:
    if math.isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    return number_text(value)


def _show_finite(value: float) -> str:
    # an infinite block size (blocks of any size: legal, and useless) is printed as null
    return number_text(value) if math.isfinite(value) else "null"


def _read_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise expected("a whole number, 0 or more, without a fraction,", value)
    if not 0 <= value < 2**64:
        raise BadValue("ir-number", "a whole number from 0 to 18446744073709551615 is expected")
    return value


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise expected("true or false", value)
    return value


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise expected("a string", value)
    if any("\ud800" <= ch <= "\udfff" for ch in value):
        raise BadValue(
            "ir-type", "the string holds half of a surrogate pair, which is no character"
        )
    return value


REAL = Leaf(_read_real, _show_real)
FINITE = Leaf(_read_finite, _show_finite)
COUNT = Leaf(_read_count, str)
FLAG = Leaf(_read_flag, lambda v: "true" if v else "false")
TEXT = Leaf(_read_text, lambda v: json.dumps(v, ensure_ascii=False))


# --- shorthands ---------------------------------------------------------------------------------


def _names(what: str, names: type[PythonEnum]) -> Enum:
    """A string that is one of the values of ``names``."""
    variants: dict[str, Variant] = {m.value: Unit(lambda m=m: m) for m in names}  # type: ignore[misc]
    return Enum(what).define(variants, lambda node: str(node.value))


def _class_name(node: Any) -> str:
    return type(node).__name__


def _same(node: Any) -> Any:
    return node


def _one(cls: Callable[[Any], Any], attribute: str, inner: Schema) -> Newtype:
    """A variant of one value."""
    return Newtype(inner, cls, lambda node: getattr(node, attribute))


def _tuple(cls: Callable[..., Any], *fields: tuple[str, Schema]) -> Newtype:
    """A variant whose values stand in an array: ``{"Set": [slot, expr]}``."""
    take = attributes(*(name for name, _ in fields))
    return Newtype(Fixed(tuple(schema for _, schema in fields), cls, take), _same, _same)


def _object(cls: Callable[..., Any], what: str, *fields: Field) -> Newtype:
    """A variant whose values stand in an object."""
    return Newtype(Struct(cls, fields, what), _same, _same)


def _optional(name: str, schema: Schema) -> Field:
    """A field that may be absent and is printed as null when it says nothing."""
    return Field(name, Nullable(schema), default=None)


def _omitted(name: str, schema: Schema) -> Field:
    """A field that may be absent, and is when it says nothing."""
    return Field(name, Nullable(schema), default=None, omit=True)


# --- references and expressions -----------------------------------------------------------------

EXPR = Enum("expression")
EXPRS = Many(EXPR)
REF = Struct(
    n.Ref, (Field("base", COUNT), Field("count", COUNT), _optional("index", EXPR)), "a reference"
)

_BASE_COUNT = (Field("base", COUNT), Field("count", COUNT))
_FAMILY = Enum("pool or stage of a cost").define(
    {
        "Pool": _object(n.PoolTarget, "a family of pools", *_BASE_COUNT),
        "Stage": _object(n.StageTarget, "a family of stages", *_BASE_COUNT),
    },
    lambda node: "Pool" if isinstance(node, n.PoolTarget) else "Stage",
)
_TARGETS: dict[type, str] = {
    n.PoolTarget: "Pool",
    n.StageTarget: "Stage",
    n.JointTarget: "Joint",
}
TARGET = Enum("resource of a cost").define(
    {
        "Pool": _object(n.PoolTarget, "a family of pools", *_BASE_COUNT),
        "Stage": _object(n.StageTarget, "a family of stages", *_BASE_COUNT),
        "Joint": _one(n.JointTarget, "targets", Many(_FAMILY)),
    },
    lambda node: _TARGETS[type(node)],
)

_ARGS: dict[type, str] = {n.ExprArg: "Expr", n.PoolArg: "Pool", n.StageArg: "Stage"}
_ARG = Enum("argument").define(
    {
        "Expr": _one(n.ExprArg, "expr", EXPR),
        "Pool": _one(n.PoolArg, "ref", REF),
        "Stage": _one(n.StageArg, "ref", REF),
    },
    lambda node: _ARGS[type(node)],
)

EXPR.define(
    {
        "Num": _one(n.Num, "value", REAL),
        "Attr": _one(n.Attr, "slot", COUNT),
        "Ctx": _one(n.CtxVar, "name", _names("value of an evaluation moment", n.Ctx)),
        "Sample": _tuple(n.Sample, ("dist", _names("distribution", n.Dist)), ("args", EXPRS)),
        "Call": _tuple(n.Call, ("fun", _names("function", n.Fun)), ("args", Many(_ARG))),
        "Unary": _tuple(
            n.Unary, ("op", _names("operator with one operand", n.UnaryOp)), ("operand", EXPR)
        ),
        "Binary": _tuple(
            n.Binary,
            ("op", _names("operator with two operands", n.BinaryOp)),
            ("left", EXPR),
            ("right", EXPR),
        ),
        "Cond": _tuple(n.Cond, ("test", EXPR), ("then", EXPR), ("orelse", EXPR)),
        "Cost": _tuple(n.Cost, ("target", TARGET), ("expr", EXPR)),
        "Agg": _tuple(n.Agg, ("aggregate", _names("aggregate", n.Aggregate)), ("observe", COUNT)),
        "Reg": _one(n.Reg, "register", COUNT),
    },
    lambda node: "Ctx" if isinstance(node, n.CtxVar) else type(node).__name__,
)

# --- statements ---------------------------------------------------------------------------------

_HOLD_POOL = Fixed((REF, EXPR, Nullable(EXPR)), n.HoldPool, attributes("pool", "units", "reserve"))
STMT = Enum("statement").define(
    {
        "Turn": Unit(n.Turn),
        "Set": _tuple(n.Set, ("slot", COUNT), ("expr", EXPR)),
        "Observe": _tuple(n.Observe, ("observe", COUNT), ("expr", EXPR)),
        "Hold": _object(
            n.Hold,
            "a hold",
            Field("pools", Many(_HOLD_POOL)),
            _optional("reuse", EXPR),
            Field("body", COUNT),
            _optional("cache", EXPR),
            _optional("lease", Fixed((REF, EXPR), n.Lease, attributes("pool", "time"))),
        ),
        "Grow": _tuple(n.Grow, ("pool", REF), ("amount", EXPR)),
        "Drop": _one(n.Drop, "pool", REF),
        "Release": _one(n.Release, "pool", REF),
        "Load": _tuple(n.Load, ("pool", REF), ("amount", EXPR)),
        "Run": _object(
            n.Run,
            "a run",
            Field("stage", REF),
            Field("mode", _names("mode of a run", n.Mode)),
            Field("work", EXPR),
            _optional("growing", REF),
            Field("also", Many(REF), default=(), omit=True),
        ),
        "Branch": _tuple(n.Branch, ("guard", EXPR), ("then", COUNT), ("orelse", COUNT)),
        "Loop": _one(n.Loop, "body", COUNT),
        "While": _tuple(n.While, ("guard", EXPR), ("body", COUNT)),
        "Choose": _object(
            n.Choose,
            "a choose",
            Field("var", COUNT),
            Field("count", EXPR),
            Field("key", EXPRS),
        ),
        "End": Unit(n.End),
        "Fork": _one(n.Fork, "body", COUNT),
        "Join": Unit(n.Join),
    },
    _class_name,
)

# --- pools --------------------------------------------------------------------------------------

_KEYS = Struct(
    n.PreemptBy,
    (Field("keys", EXPRS), Field("tail", FLAG, default=False, omit=True)),
    "a preemption order",
)
POOL = Struct(
    n.Pool,
    (
        Field("name", TEXT),
        _omitted("index", COUNT),
        Field("cap", REAL),
        _optional("block", FINITE),
        Field(
            "evict",
            Enum("order of eviction").define(
                {"Lru": Unit(n.Lru), "By": _one(n.EvictBy, "keys", EXPRS)},
                lambda node: "Lru" if isinstance(node, n.Lru) else "By",
            ),
        ),
        Field(
            "preempt",
            Enum("preemption").define(
                {"None": Unit(n.NoPreempt), "By": Newtype(_KEYS, _same, _same)},
                lambda node: "None" if isinstance(node, n.NoPreempt) else "By",
            ),
        ),
        _optional("queue", EXPRS),
        _optional(
            "spill",
            Struct(
                n.Spill,
                (
                    Field("to", COUNT),
                    Field("via", COUNT),
                    Field("work", EXPR),
                    Field("when", EXPR),
                ),
                "a spill",
            ),
        ),
        _optional("admit_via", COUNT),
        Field("reserve_held", FLAG, default=False, omit=True),
    ),
    "a pool",
)

# --- stages -------------------------------------------------------------------------------------

ITER = Enum("statement of a schedule")
ITER.define(
    {
        "Serve": _object(n.IterServe, "an advance", _omitted("only", EXPR), _omitted("by", EXPRS)),
        "Admit": _object(n.IterAdmit, "an admit", _omitted("only", EXPR), _omitted("gate", EXPR)),
        "Branch": _tuple(
            n.IterBranch, ("guard", EXPR), ("then", Many(ITER)), ("orelse", Many(ITER))
        ),
        "Set": _tuple(n.IterSet, ("register", COUNT), ("expr", EXPR)),
    },
    lambda node: type(node).__name__.removeprefix("Iter"),
)
STEP = _object(
    n.Step,
    "an engine",
    Field("budget", EXPR),
    Field("cost", EXPR),
    Field("chunk", EXPR),
    _omitted("granule", EXPR),
    Field(
        "serve",
        Enum("order of service").define(
            {"By": _one(n.ServeBy, "keys", EXPRS), "ExclusivePrefill": Unit(n.ExclusivePrefill)},
            lambda node: "By" if isinstance(node, n.ServeBy) else "ExclusivePrefill",
        ),
    ),
    _optional("memory", COUNT),
    _omitted("iteration", Many(ITER)),
)
STAGE = Struct(
    n.Stage,
    (
        Field("name", TEXT),
        _omitted("index", COUNT),
        Field(
            "kind",
            Enum("kind of stage").define(
                {
                    "Fifo": _one(n.Fifo, "servers", COUNT),
                    "Ps": _one(n.Ps, "capacity", EXPR),
                    "Step": STEP,
                },
                _class_name,
            ),
        ),
    ),
    "a stage",
)

# --- the program --------------------------------------------------------------------------------

_PRESETS = Many(Fixed((COUNT, FINITE), lambda slot, value: (slot, value), list))
_SESSION = Struct(
    n.SessionData,
    (
        Field("attrs", _PRESETS),
        Field("turns", Nullable(Many(_PRESETS)), default=None, omit=True),
    ),
    "a session",
)
ARRIVAL = Enum("kind of arrival").define(
    {
        "Poisson": _one(n.Poisson, "rate", FINITE),
        "Renewal": _one(n.Renewal, "gap", EXPR),
        "Closed": _one(n.Closed, "population", COUNT),
        "Batch": _one(n.Batch, "size", COUNT),
        "None": Unit(n.NoArrivals),
        "Sessions": _one(n.Sessions, "sessions", Many(_SESSION)),
    },
    lambda node: "None" if isinstance(node, n.NoArrivals) else type(node).__name__,
)
ATTR_TYPE = Enum("type of an attribute").define(
    {
        "Size": Unit(n.SizeType),
        "Value": Unit(n.ValueType),
        "Cost": _one(n.CostType, "target", TARGET),
    },
    lambda node: type(node).__name__.removesuffix("Type"),
)
_CLAIM_KIND = Enum("kind of claim").define(
    {
        "AtEnd": Unit(n.AtEnd),
        "EveryIteration": _one(n.EveryIteration, "stage", COUNT),
        "SomeIteration": _one(n.SomeIteration, "stage", COUNT),
    },
    _class_name,
)
_SLOTS = ("cached", "serial", "turn", "new", "out", "think", "more", "forced", "computed")
PROGRAM = Struct(
    n.Program,
    (
        Field("version", COUNT),
        Field("attrs", Many(TEXT)),
        Field("attr_types", Many(ATTR_TYPE)),
        Field("sides", Many(Many(_names("side", n.Side)))),
        Field("observes", Many(TEXT)),
        Field("pools", Many(POOL)),
        Field("stages", Many(STAGE)),
        Field("arrival", ARRIVAL),
        _optional("trace", TEXT),
        Field("trace_ordered", FLAG),
        Field("init", COUNT),
        Field("turn", COUNT),
        Field("session", COUNT),
        Field("blocks", Many(Many(STMT))),
        Field("horizon", FINITE),
        Field("warmup", FINITE),
        Field("seed", COUNT),
        _omitted("arrivals", COUNT),
        *(Field(f"slot_{name}", COUNT) for name in _SLOTS),
        Field("hidden", Many(COUNT)),
        _omitted("share", _names("way of sharing", n.Share)),
        Field(
            "gauges",
            Many(Struct(n.Gauge, (Field("name", TEXT), Field("expr", EXPR)), "a gauge")),
            default=(),
            omit=True,
        ),
        Field(
            "claims",
            Many(
                Struct(
                    n.Claim,
                    (
                        Field("name", TEXT),
                        _omitted("given", EXPR),
                        Field("kind", _CLAIM_KIND),
                        Field("expr", EXPR),
                    ),
                    "a claim",
                )
            ),
            default=(),
            omit=True,
        ),
        Field(
            "registers",
            Many(
                Struct(
                    n.Register,
                    (Field("name", TEXT), Field("stage", COUNT), Field("init", REAL)),
                    "a register",
                )
            ),
            default=(),
            omit=True,
        ),
        Field("extensions", Many(TEXT), default=(), omit=True),
    ),
    "a program",
)


def to_json(program: n.Program) -> str:
    """The program as JSON text, without a newline at the end."""
    return encode(PROGRAM, program)


def place(name: str, path: str) -> str:
    """Where a fault of an IR document is, for a diagnostic's ``where``."""
    return f"{name}: {path}" if path else name


def from_json(text: str, name: str = "<ir>") -> n.Program:
    """The program of a JSON text that is called ``name`` in messages.

    The result is well-formed, not yet valid: `serq.ir.validate.validate` has the rules of the
    language. Raises `SerqError`; its diagnostic carries the path of the fault in the document, or
    a span in the text where it is no JSON.
    """
    try:
        document = parse(text)
    except JsonError as error:
        offset = min(error.offset, len(text))
        code = "ir-too-deep" if error.too_deep else "ir-syntax"
        message = f"this is not JSON: {error.message}"
        if error.too_deep:
            message = f"the document is too deep to read: {error.message}"
        elif offset >= len(text.rstrip()) and text.strip():
            message = f"the document ends in the middle: {error.message}"
        elif not text.strip():
            message = "the document is empty"
        span = Span(Source(name, text), offset, min(offset + 1, len(text)))
        raise SerqError.of(code, message, span=span, help=_IR_HELP) from None
    try:
        _check_version(document)
        program: n.Program = decode(PROGRAM, document)
    except BadValue as bad:
        raise SerqError.of(
            bad.code, bad.message, where=place(name, bad.path), help=_IR_HELP
        ) from None
    return program


_IR_HELP = "an IR document is what `serq ir` prints; write it again rather than mend it by hand"


def _check_version(document: Any) -> None:
    """Refuse another version before any fault that only follows from it."""
    if not isinstance(document, dict) or type(document.get("version")) is not int:
        return  # decoding says what is wrong
    version, extensions = document["version"], document.get("extensions", [])
    if version not in (n.VERSION, EXTENDED_VERSION):
        raise BadValue(
            "ir-version",
            f"the document has IR version {version}, and this reader reads {n.VERSION}",
            path="version",
        )
    if not isinstance(extensions, list) or not all(isinstance(e, str) for e in extensions):
        return
    if bool(extensions) != (version == EXTENDED_VERSION):
        raise BadValue(
            "ir-version",
            f"version {EXTENDED_VERSION} and a list of `extensions` go together, and only they",
            path="version",
        )
    for i, extension in enumerate(extensions):
        if extension not in KNOWN_EXTENSIONS:
            raise BadValue(
                "ir-extension",
                f"the document uses the extension `{extension}`, which this version of serQ"
                " does not know",
                path=f"extensions[{i}]",
            )
