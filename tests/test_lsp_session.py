"""A whole session of an editor with ``serq lsp``, over standard input and output."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

lsp = pytest.importorskip("lsprotocol.types", reason="pygls is not installed: the extra `lsp`")
from pygls.lsp.client import LanguageClient  # noqa: E402

from serq.lsp.server import Text  # noqa: E402

VLLM = Path(__file__).parent.parent / "examples/multi-turn/vllm.sq"


class Editor:
    """An editor's side of the protocol."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.published: asyncio.Queue[Any] = asyncio.Queue()
        self.version = 1

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def receive(params: Any) -> None:
            self.published.put_nowait(params)

    def open(self, uri: str, text: str) -> None:
        item = lsp.TextDocumentItem(uri, "serq", self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def change(self, uri: str, text: str) -> None:
        self.version += 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(self.version, uri),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def diagnostics(self) -> Any:
        return await asyncio.wait_for(self.published.get(), 60)

    def place(self, uri: str, text: str, needle: str, shift: int = 0) -> dict[str, Any]:
        at = Text(text, lsp.PositionEncodingKind.Utf16).position(text.index(needle) + shift)
        return {"text_document": lsp.TextDocumentIdentifier(uri), "position": at}


def session(act: Callable[[Editor], Awaitable[None]]) -> None:
    """Start the server, say hello, act, and say goodbye; the server ends by itself."""

    async def run() -> None:
        client = LanguageClient("test", "1")
        editor = Editor(client)
        await client.start_io(sys.executable, "-m", "serq", "lsp", "--stdio")
        hello = await client.initialize_async(
            lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), process_id=None)
        )
        assert hello.server_info is not None and hello.server_info.name == "serq"
        assert hello.capabilities.hover_provider and hello.capabilities.completion_provider
        client.initialized(lsp.InitializedParams())
        await act(editor)
        await client.shutdown_async(None)
        client.exit(None)
        server = client._server
        assert server is not None
        assert await asyncio.wait_for(server.wait(), 60) == 0
        await client.stop()

    asyncio.run(asyncio.wait_for(run(), 240))


def test_a_session(tmp_path: Path) -> None:
    """Errors come and go as the text changes; hover, completion, definition and layout answer."""
    text = VLLM.read_text(encoding="utf-8")
    file = tmp_path / "λ model.sq"
    uri = file.as_uri()

    async def act(editor: Editor) -> None:
        client = editor.client
        editor.open(uri, text)
        first = await editor.diagnostics()
        assert first.uri == uri and not first.diagnostics
        wrong = text.replace("queued(reqs)", "queued(rqs)")
        editor.change(uri, wrong)
        (fault,) = (await editor.diagnostics()).diagnostics
        assert fault.severity == lsp.DiagnosticSeverity.Error and fault.source == "serq"
        start = Text(wrong, lsp.PositionEncodingKind.Utf16).position(wrong.index("rqs"))
        assert fault.range.start == start and fault.range.end.character == start.character + 3
        assert "reqs" in fault.message and fault.code
        editor.change(uri, text)
        assert not (await editor.diagnostics()).diagnostics

        shown = await client.text_document_hover_async(
            lsp.HoverParams(**editor.place(uri, text, "count + waiting"))
        )
        assert shown is not None and "Requests running" in shown.contents.value
        nothing = await client.text_document_hover_async(
            lsp.HoverParams(**editor.place(uri, text, "// vLLM's engine"))
        )
        assert nothing is None

        half = text.replace("queue fifo;", "queue by (")
        editor.change(uri, half)
        offered = await client.text_document_completion_async(
            lsp.CompletionParams(**editor.place(uri, half, "queue by (", len("queue by (")))
        )
        labels = {item.label for item in offered}
        assert {"waited", "serial", "used"} <= labels
        assert not {"remaining", "batch.tokens", "~exp"} & labels

        (found,) = await client.text_document_definition_async(
            lsp.DefinitionParams(**editor.place(uri, text, "blocks * bs"))
        )
        assert found.uri == uri and found.range.start.line == 19

        untidy = text.replace("let bs = 16;", "let   bs=16;")
        editor.change(uri, untidy)
        (edit,) = await client.text_document_formatting_async(
            lsp.DocumentFormattingParams(
                lsp.TextDocumentIdentifier(uri), lsp.FormattingOptions(2, True)
            )
        )
        assert edit.new_text == text
        client.text_document_did_close(
            lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri))
        )
        while (last := await editor.diagnostics()).diagnostics:
            pass
        assert last.uri == uri

    session(act)


def test_a_fault_in_a_library_is_shown_where_it_is_used(tmp_path: Path) -> None:
    """An import that does not parse marks the `use`, and leads to the place in the library."""
    (tmp_path / "lib.sq").write_text("def f(x) { x + }\n", encoding="utf-8")
    text = 'let a = 1;\nuse "lib.sq";\nfn main() { pool p { cap a; } gauge g = f(used(p)); }\n'
    uri = (tmp_path / "main.sq").as_uri()

    async def act(editor: Editor) -> None:
        editor.open(uri, text)
        found = (await editor.diagnostics()).diagnostics
        marked = [d for d in found if d.range.start.line == 1]
        assert marked and "lib.sq:1:" in marked[0].message
        related = marked[0].related_information[0].location
        assert related.uri == (tmp_path / "lib.sq").as_uri() and related.range.start.line == 0

    session(act)


def test_a_text_without_a_file_is_served(tmp_path: Path) -> None:
    """A text that was never saved is checked, and everything in it found, astral signs included."""
    text = "fn main() { /* \U0001f600 */ pool p { cap 2; } gauge g = usd(p); }\n"

    async def act(editor: Editor) -> None:
        editor.open("untitled:one", text)
        (fault,) = (await editor.diagnostics()).diagnostics
        # The sign before it counts as two units of UTF-16.
        assert fault.range.start.character == text.index("usd") + 1
        shown = await editor.client.text_document_hover_async(
            lsp.HoverParams(
                lsp.TextDocumentIdentifier("untitled:one"),
                lsp.Position(0, text.index("p {") + 1),
            )
        )
        assert shown is not None and "**pool** `p`" in shown.contents.value

    session(act)


ENCODINGS = [lsp.PositionEncodingKind.Utf8, lsp.PositionEncodingKind.Utf16,
             lsp.PositionEncodingKind.Utf32]  # fmt: skip


@given(st.text("aλ世\U0001f600\n\r", max_size=30), st.sampled_from(ENCODINGS), st.data())
def test_positions_lead_back(text: str, encoding: Any, data: st.DataObject) -> None:
    """The position of an offset is the position that leads back to it."""
    made = Text(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    position = made.position(offset)
    back = made.offset(position)
    if text[offset - 1 : offset + 1] == "\r\n":  # inside a line's end
        assert back == offset - 1
    else:
        assert back == offset
    assert (
        position.line
        == len(text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")) - 1
        or text[offset - 1 : offset + 1] == "\r\n"
    )


def test_without_the_library_the_command_says_so() -> None:
    """Without pygls, `serq lsp` is one diagnostic of status 1 that names the extra."""
    hide = "import sys\nsys.modules['pygls'] = None\nfrom serq.cli import main\nmain(['lsp'])\n"
    done = subprocess.run(
        [sys.executable, "-c", hide], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1 and done.stdout == ""
    assert "error[lsp-extra]" in done.stderr and "serq[lsp]" in done.stderr
    assert "Traceback" not in done.stderr
