"""Deep, long and hostile texts: they work, or they are refused by one clear error."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from serq.diagnostics import Diagnostic, SerqError, Source, render
from serq.syntax import ast
from serq.syntax.driver import Tables
from serq.syntax.format import format_source
from serq.syntax.parser import parse, parse_expression, parse_recovering
from serq.syntax.printer import to_text
from serq.syntax.read import read_source
from serq.syntax.walk import same_tree, walk

MEGABYTE = 1_000_000


def of(expression: str) -> str:
    return f"fn main() {{ let x = {expression}; }}"


def faults(text: str) -> list[Diagnostic]:
    """The diagnostics of a text, which are all rendered."""
    _, diagnostics = parse_recovering(Source("p", text))
    assert all(len(render(d)) < 2_000 for d in diagnostics)
    return diagnostics


DEEP: dict[str, str] = {
    "1 000 parentheses": of("(" * 1000 + "1" + ")" * 1000),
    "1 000 signs": of("-" * 1000 + "1"),
    "1 000 calls": of("abs(" * 1000 + "1" + ")" * 1000),
    "1 000 powers": of("2^" * 1000 + "1"),
    "1 000 conditionals": of("1 ? 2 : " * 1000 + "3"),
    "1 000 sums to the right": of("(1 + " * 1000 + "1" + ")" * 1000),
    "5 000 terms": of(" + ".join(["1"] * 5000)),
    "500 blocks": f"fn main() {{ server {{ {'branch (a) {' * 500} {'}' * 500} }} }}",
    "300 aggregates": of("".join(f"sum j{i} in 2 (" for i in range(300)) + "1" + ")" * 300),
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_deep_texts_work(text: str) -> None:
    """A text of documented depth is read, gone through, printed, compared and laid out."""
    module = parse(Source("p", text))
    assert sum(1 for _ in walk(module)) > 3
    assert same_tree(parse(Source("q", to_text(module))), module)
    assert same_tree(parse(Source("q", format_source(text))), module)


REFUSED: dict[str, tuple[str, str]] = {
    "5 000 blocks": (
        f"fn main() {{ server {{ {'branch (a) {' * 5000} {'}' * 5000} }} }}", "nested-too-deep"),
    "5 000 parentheses": (of("(" * 5000 + "1" + ")" * 5000), "nested-too-deep"),
    "a million braces": ("{" * MEGABYTE, "nested-too-deep"),
    "1 MB of terms": (of("1+" * (MEGABYTE // 2) + "1"), "text-too-long"),
    "50 000 terms": (of("1+" * 50_000 + "1"), "nested-too-deep"),
    "50 000 signs": (of("-" * 50_000 + "1"), "nested-too-deep"),
    "10 MB of words": ("a b " * (10 * MEGABYTE // 4), "text-too-long"),
    "10 MB of comments": ("/**/" * (10 * MEGABYTE // 4), "text-too-long"),
    "10 MB of quotes": ('"' * (10 * MEGABYTE), "text-too-long"),
    "10 MB of one sign": ("%" * (10 * MEGABYTE), "unexpected-character"),
    "10 MB of zero bytes": ("\0" * (10 * MEGABYTE), "unexpected-character"),
    "an open comment of 10 MB": ("/*" + "*" * (10 * MEGABYTE), "unclosed-comment"),
    "10 MB of a digit": ("1" * (10 * MEGABYTE), "syntax"),
    "20 MB": (" " * (20 * MEGABYTE), "text-too-long"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_too_much_is_one_error(text: str, code: str) -> None:
    """A text beyond the documented limits is one diagnostic with a code."""
    assert [d.code for d in faults(text)] == [code]


def noise(alphabet: Callable[[random.Random], str], size: int) -> str:
    rng = random.Random(11)
    return "".join(alphabet(rng) for _ in range(size))


NOISE: dict[str, str] = {
    "characters": noise(lambda r: chr(r.randrange(1, 256)), 2 * MEGABYTE) * 5,
    "printable": noise(lambda r: chr(r.randrange(32, 127)), 2 * MEGABYTE) * 5,
    "words": noise(
        lambda r: r.choice(["set ", "hold ", "a ", "1 ", "; ", "{ ", "} ", "( ", ") ", "= "]),
        150_000,
    ),
    "closing braces": "fn main() { " + "} " * 200_000,
    "semicolons": "fn main() { " + "; " * 200_000,
    "missing semicolons": "fn main() {" + "let x = 1\n" * 50_000 + "}",
}


@pytest.mark.parametrize("text", NOISE.values(), ids=NOISE.keys())
def test_noise_is_a_few_errors(text: str) -> None:
    """Megabytes of noise give at least one and at most 21 diagnostics."""
    assert 1 <= len(faults(text)) <= 21


def test_an_expression_has_the_same_limits() -> None:
    """What stands alone, as in `--set`, is held to the same depth."""
    with pytest.raises(SerqError) as caught:
        parse_expression(Source("--set x", "(" * 5000 + "1" + ")" * 5000))
    assert [d.code for d in caught.value.diagnostics] == ["nested-too-deep"]
    assert isinstance(parse_expression(Source("e", "(" * 1000 + "1" + ")" * 1000)), ast.Number)


# --- files --------------------------------------------------------------------------------------


def refusal(path: Path) -> Diagnostic:
    with pytest.raises(SerqError) as caught:
        read_source(path)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_a_program_file_is_read_as_it_is(tmp_path: Path) -> None:
    """A file is its text under the path that was given; a byte order mark is left out."""
    file = tmp_path / "p.sq"
    file.write_bytes(b"\xef\xbb\xbffn main() {\r\n let \xce\xbb = 1; }\r\n")
    source = read_source(file)
    assert source == Source(str(file), "fn main() {\r\n let λ = 1; }\r\n")
    parse(source)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    """A missing file, a directory, bytes that are no UTF-8 and a huge file are clear errors."""
    (tmp_path / "latin").write_bytes(b"fn main() {\n  // caf\xe9\n}\n")
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 70 * MEGABYTE)
    missing, directory = refusal(tmp_path / "none"), refusal(tmp_path)
    latin, huge = refusal(tmp_path / "latin"), refusal(tmp_path / "huge")
    assert missing.code == directory.code == latin.code == "unreadable-file"
    assert "No such file" in missing.message and "directory" in directory.message
    assert "line 2 is not UTF-8" in latin.message
    assert huge.code == "text-too-long"


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    """An empty program, or one of comments only, is refused because nothing is in it."""
    (tmp_path / "e.sq").write_text("// to do\n")
    for source in (read_source(tmp_path / "e.sq"), Source("p", "")):
        with pytest.raises(SerqError, match="the program is empty"):
            parse(source)


# --- the kept tables ----------------------------------------------------------------------------


@pytest.mark.parametrize("content", [None, b"", b"junk\n\x80\x04"])
def test_the_kept_tables_may_be_missing_or_broken(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser's tables are kept in the cache; a missing or broken file is made anew."""
    monkeypatch.setenv("SERQ_CACHE", str(tmp_path))
    Tables()
    (kept,) = tmp_path.glob("*.tables")
    good = kept.read_bytes()
    if content is None:
        kept.unlink()
    else:
        kept.write_bytes(content)
    assert Tables().terminal["hold"] == "HOLD"
    assert kept.read_bytes()[:64] == good[:64]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """Where nothing can be kept, the parser works all the same."""
    (tmp_path / "file").write_text("")
    program = "from serq.syntax.parser import *; parse(Source('p', 'fn main() { }'))"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"SERQ_CACHE": str(tmp_path / "file" / "below")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
