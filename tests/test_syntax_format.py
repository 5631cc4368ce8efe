"""The layout of `serq fmt`: blank space changes; words, comments and spellings stay."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_syntax_table import ACCEPTED, whole

from serq.cli import main
from serq.diagnostics import SerqError, Source
from serq.syntax.format import WIDTH, format_source
from serq.syntax.lexer import lex
from serq.syntax.parser import parse_text
from serq.syntax.walk import same_tree

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").rglob("*.sq"))

UNTIDY = """\
// the plant

use "std/args" ;
let   rate=1_000. ;  // per hour
let mean = .5;// hours



def  f( x ) {x+ -1^ 2}
fn main ( )
{
    let N=args . number ( "n",3 );
  pool kv [ N ]{cap 3*N;evict by(age,- size);}   // two

  stage s [2]:ps ( present+1 ) ;  stage t : delay;
    // what the server does
  server {
     hold kv [0] ( cost( kv,1 ) ) ,q(1)
       at admission ( y=max( 1,
        2 ) )
     { run s [ 1 ] ( cost(s , y) ) ; }
       cache( 3 ) lease kv[0](inf) ;
     branch( a==1 ){end ;}
     else{ set x = max j in N( j ) ;  /* why */ }

  }
  claim c given( n>0 ) :at end( 1 ) ;
}
"""

TIDY = """\
// the plant

use "std/args";
let rate = 1_000.;  // per hour
let mean = .5;      // hours

def f(x) { x + -1^2 }
fn main() {
  let N = args.number("n", 3);
  pool kv[N] { cap 3 * N; evict by (age, -size); }  // two

  stage s[2] : ps(present + 1);
  stage t : delay;
  // what the server does
  server {
    hold kv[0] (cost(kv, 1)), q (1)
      at admission (y = max(1,
                            2)) { run s[1] (cost(s, y)); } cache (3) lease kv[0] (inf);
    branch (a == 1) { end; } else { set x = max j in N (j); /* why */ }
  }
  claim c given (n > 0): at end (1);
}
"""


def comments(text: str) -> list[list[str]]:
    """The words of each comment."""
    return [c.text.split() for c in lex(Source("x", text)).comments]


def words(text: str) -> list[str]:
    """The tokens of a text."""
    return [str(t) for t in lex(Source("x", text)).tokens]


def check(text: str) -> str:
    """The layout of a text, which reads as the text does, and is its own layout."""
    result = format_source(text)
    one, other = parse_text(Source("a", text)), parse_text(Source("b", result))
    assert other.diagnostics == [] and same_tree(one.tree, other.tree)
    assert words(result) == words(text)
    assert comments(result) == comments(text)
    assert format_source(result) == result
    assert not re.search(r"[ \t]\n", result) and "\n\n\n" not in result
    return result


def test_the_layout() -> None:
    """One item a line, two columns a block, spaces around operators, comments in a column."""
    assert check(UNTIDY) == TIDY


@pytest.mark.parametrize(("place", "snippet"), ACCEPTED)
def test_every_construct_keeps_its_meaning(place: str, snippet: str) -> None:
    """Each construct of the language reads the same when it is laid out, and stays laid out."""
    check(whole(place, snippet))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_keeps_its_meaning(path: Path) -> None:
    """Each example program reads the same when it is laid out, and stays laid out."""
    check(path.read_text(encoding="utf-8"))


def test_any_blank_space_and_any_comments() -> None:
    """Programs with random blanks, line ends and comments between their words are laid out too."""
    rng = random.Random(1)
    texts = [p.read_text(encoding="utf-8") for p in EXAMPLES]
    for _ in range(40):
        breaks, remarks = rng.choice([0.02, 0.1, 0.4]), rng.choice([0, 0.01, 0.1])
        out: list[str] = []
        for word in words(rng.choice(texts)):
            out.append(word)
            blanks = ["\n", "\n\n", "\n  ", "\n\n\n      ", " " * 7, "\t"]
            out.append(rng.choice(blanks) if rng.random() < breaks else " ")
            if rng.random() < remarks:
                out.append(rng.choice(["// c\n", "  // d  \n", "/* x */", "\n  /* y\n z */ "]))
        check("".join(out))


def test_a_block_that_does_not_fit_is_broken() -> None:
    """A block on one line stays there as long as the line is no longer than the width."""
    fits = "pool kv { " + " ".join(["cap 1;"] * 12) + " }"
    text = check(f"fn main() {{\n{fits}\n}}\n")
    assert text == f"fn main() {{\n  {fits}\n}}\n" and len(fits) + 2 <= WIDTH
    text = check(f"fn main() {{\n{fits[:-1]}{'cap 2; ' * 2}}}\n}}\n")
    assert text.startswith("fn main() {\n  pool kv {\n    cap 1;\n")


def test_a_column_of_comments_is_kept() -> None:
    """Comments that were aligned further right stay there; others stand two blanks behind."""
    aligned = "let a = 1;        // one\nlet bb = 2;       // two\n\nlet c = 3;        // three\n"
    assert check(aligned) == aligned
    assert check("let a = 1; // one\nlet bb = 2; // two\n") == (
        "let a = 1;   // one\nlet bb = 2;  // two\n"
    )
    wide = "let a = 1;      // one\nlet b_with_a_long_name = 2;  // two\n"
    assert check(wide) == (
        "let a = 1;                   // one\nlet b_with_a_long_name = 2;  // two\n"
    )


def test_line_ends_and_the_byte_order_mark() -> None:
    """Line ends become `\\n`, and the text ends with one."""
    assert check("let a = 1;\r\n// c\r\nlet b = 2;") == "let a = 1;\n// c\nlet b = 2;\n"
    assert format_source("") == ""


def test_a_text_that_does_not_parse_has_no_layout() -> None:
    """A text with syntax errors is refused with all of them."""
    with pytest.raises(SerqError) as caught:
        format_source("fn main() { let x = 1 let y = ; }", "p.sq")
    assert len(caught.value.diagnostics) == 2


# --- the command --------------------------------------------------------------------------------


def fmt(*args: object) -> Result:
    return CliRunner().invoke(main, ["fmt", *map(str, args)])


def test_the_command_rewrites_files_in_place(tmp_path: Path) -> None:
    """Files are laid out in place, keep their permissions, and a link stays a link."""
    file, link = tmp_path / "p.sq", tmp_path / "link.sq"
    file.write_text(UNTIDY)
    file.chmod(0o640)
    link.symlink_to(file)
    result = fmt(link, file)
    assert (result.exit_code, result.output) == (0, "")
    assert file.read_text() == TIDY and link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["link.sq", "p.sq"]


def test_a_tidy_file_is_not_written(tmp_path: Path) -> None:
    """A file that has its layout already is left alone."""
    file = tmp_path / "p.sq"
    file.write_text(TIDY)
    os_time = file.stat().st_mtime_ns
    assert fmt(file).exit_code == 0
    assert file.stat().st_mtime_ns == os_time


def test_check_lists_what_would_change(tmp_path: Path) -> None:
    """With --check nothing is written, the files that would change are listed, and status is 1."""
    tidy, untidy = tmp_path / "tidy.sq", tmp_path / "untidy.sq"
    tidy.write_text(TIDY)
    untidy.write_text(UNTIDY)
    result = fmt("--check", tidy, untidy)
    assert (result.exit_code, result.stdout) == (1, f"{untidy}\n")
    assert untidy.read_text() == UNTIDY
    assert fmt("--check", tidy).exit_code == 0 and fmt("--check", tidy).output == ""


def test_every_file_is_read_before_any_is_written(tmp_path: Path) -> None:
    """One file that does not parse, or cannot be read, leaves all files as they are."""
    good, bad = tmp_path / "good.sq", tmp_path / "bad.sq"
    good.write_text(UNTIDY)
    bad.write_text("fn main() { let x = ; }")
    result = fmt(good, bad, tmp_path / "none.sq", tmp_path / "program.json")
    assert result.exit_code == 1 and result.stdout == ""
    assert good.read_text() == UNTIDY
    assert all(code in result.stderr for code in ("syntax", "unreadable-file", "not-a-program"))


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    """A file that cannot be written is an error, and is left as it is."""
    file = tmp_path / "p.sq"
    file.write_text(UNTIDY)
    tmp_path.chmod(0o555)
    try:
        result = fmt(file)
        written = file.read_text()
    finally:
        tmp_path.chmod(0o755)
    assert written in (UNTIDY, TIDY)  # root may write anywhere
    assert result.exit_code == (1 if written == UNTIDY else 0)


def test_the_command_line_is_checked() -> None:
    """No file, or an option of another command, is a usage error with status 2."""
    assert fmt().exit_code == 2
    assert fmt("--seed", "1", "p.sq").exit_code == 2
