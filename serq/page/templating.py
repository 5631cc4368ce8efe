"""The templates of pictures and pages: everything put into one is escaped."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with what no XML may contain, or what turns the text after it, made visible."""
    return _TURNING.sub("�", _FORBIDDEN.sub("�", text))


def _finalize(value: object) -> object:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def with_code(text: str) -> Markup:
    """The text with what stands between backticks as code."""
    parts = [escape(printable(part)) for part in text.split("`")]
    marked = [Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts)]
    return Markup("").join(marked)


@cache
def template(package: str, name: str) -> Template:
    """A template of ``package``'s folder ``templates``, with escaping on."""
    env = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    env.filters["with_code"] = with_code
    return env.get_template(name)
