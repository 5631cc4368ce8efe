"""Reading traces."""

from __future__ import annotations

from math import inf

import peer
import pytest

from serq.diagnostics import SerqError
from serq.interp.trace import parse_trace, read_trace


def test_sessions_are_runs_of_one_id():
    """Consecutive rows of one id are a session; the same id later is another session."""
    text = "session,turn,new,out,think\n1,1,2,3,4\n1,2,5,6,7,1\n2,1,1,1,1\n1,1,9,9,9\n"
    assert parse_trace(text, "t") == [
        [(2, 3, 4, 0), (5, 6, 7, 1)],
        [(1, 1, 1, 0)],
        [(9, 9, 9, 0)],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "1,1,2,3,4",
        "1,1,2,3,4\n",
        "1,1,2,3,4\r\n",
        "# a comment\n\n1,1,2,3,4\n",
        "session,turn,new,out,think,forced\n1,1,2,3,4\n",
        "# first\nsession\n1,1,2,3,4\n",
        "  # indented\n   \n 1 , 1 ,2, 3,4 \n",
        "1,not read,2,3,4\n",
        "1,,2.0,3e0,+4\n",
        "1,1,2.,.3e1,4,0\n",
    ],
)
def test_spellings_of_one_row(text):
    """Headers, comments, blank lines, line ends and spaces do not matter."""
    assert parse_trace(text, "t") == [[(2, 3, 4, 0)]]


def test_odd_numbers_are_read():
    """The reader takes any number; a program that cannot use one fails where it uses it."""
    ((first,),) = parse_trace("1,1,-2.5,inf,-Infinity,1e400\n", "t")
    assert first == (-2.5, inf, -inf, inf)


@pytest.mark.parametrize(
    ("text", "code", "place", "words"),
    [
        ("", "trace-empty", "", "no row"),
        ("session,turn\n# nothing\n", "trace-empty", "", "no row"),
        ("1,1,2,3\n", "trace-row", "t.csv:1:1:", "this one has 4"),
        ("1,1,2,3,4\n1,1,2,3,4,5,6\n", "trace-row", "t.csv:2:1:", "this one has 7"),
        ("x,1,2,3,4\n", "trace-row", "t.csv:1:1:", "column 1 (session): `x`"),
        ("1,1,2,3,4\n\n1,1,2,3,4x\n", "trace-row", "t.csv:3:9:", "column 5 (think): `4x`"),
        ("1,1, two,3,4\n", "trace-row", "t.csv:1:6:", "column 3 (new): `two`"),
        ("1,1,2,3,4,\n", "trace-row", "t.csv:1:11:", "column 6 (forced): the field is empty"),
        ("1,1,2,1_0,4\n", "trace-row", "t.csv:1:7:", "column 4 (out): `1_0`"),
        ("1,1,2,0x1,4\n", "trace-row", "t.csv:1:7:", "`0x1`"),
        ("1,1,\u0661,1,4\n", "trace-row", "t.csv:1:5:", "column 3 (new)"),
        ('"1",1,2,3,4\n', "trace-row", "t.csv:1:1:", "column 1 (session)"),
        ("\ufeff1,1,2,3,4\n", "trace-row", "t.csv:1:1:", "byte-order mark"),
    ],
)
def test_broken_traces(text, code, place, words):
    """A broken trace is one error that names the line, the column, the field and the text."""
    with pytest.raises(SerqError) as caught:
        parse_trace(text, "t.csv")
    assert len(caught.value.diagnostics) == 1
    assert caught.value.diagnostics[0].code == code
    assert str(caught.value).startswith(place) and words in str(caught.value)
    assert caught.value.diagnostics[0].help


def test_files_that_cannot_be_read(tmp_path):
    """A missing file, a directory and a file that is no text are errors that name the file."""
    (tmp_path / "binary.csv").write_bytes(b"1,1,2,3,4\n1,\xff,2,3,4\n")
    for name, words in (
        ("missing.csv", "No such file"),
        (".", "directory"),
        ("binary.csv", "line 2"),
        ("a\0b", "null"),
        ("../" * 40 + "dev/zero", "device"),
    ):
        with pytest.raises(SerqError, match="unreadable-file") as caught:
            read_trace(f"{tmp_path}/{name}")
        assert words in str(caught.value)


@peer.needs_peer
@pytest.mark.parametrize(
    "text",
    [
        "1,1,2,3,4\n1,2,5,6,7,1\n2,1,1,1,1\n1,1,9,9,9\n",
        "1.2,1,1,1,1\n1.7,1,2,1,1\n2,1,3,1,1\n",
        "-1,1,1,1,1\n-2,1,1,1,1\nnan,1,1,1,1\n0,1,1,1,1\n",
        "inf,1,1,1,1\n1e30,1,1,1,1\n-inf,1,1,1,1\n",
        "4294967296,1,1,1,1\n0,1,1,1,1\n",
        " 1,1,1,1,1\t\n01,1,1,1,1\n\u00a01.0,1,1,1,1\n",
        "1,1,1,1,1\nsession,again\n1,1,1,1,1\n",
    ],
)
def test_sessions_equal_the_reference(tmp_path, text):
    """Which rows form a session is decided as in the reference build, odd ids included."""
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    assert [[list(turn) for turn in session] for session in read_trace(path)] == peer.trace(path)
