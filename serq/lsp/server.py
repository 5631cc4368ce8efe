"""The server: what an editor asks, answered from the text as it stands in the editor.

A text is checked a moment after its last change. Positions go to the editor in the units that it
asked for (UTF-16 unless it says otherwise).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from functools import cached_property
from pathlib import Path

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

import serq
from serq.diagnostics import Diagnostic, SerqError, Severity, Source, Span
from serq.lsp.check import check
from serq.lsp.names import completions, definitions, hover
from serq.lsp.symbols import Symbol, Symbols, symbols_of

PAUSE = 0.15
"""Seconds without a change before a text is checked."""

_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
}
_ITEM_KINDS = {
    "variable": lsp.CompletionItemKind.Variable,
    "function": lsp.CompletionItemKind.Function,
    "constant": lsp.CompletionItemKind.Constant,
    "attribute": lsp.CompletionItemKind.Field,
    "resource": lsp.CompletionItemKind.Module,
    "keyword": lsp.CompletionItemKind.Keyword,
    "distribution": lsp.CompletionItemKind.Function,
    "observation": lsp.CompletionItemKind.Event,
    "state": lsp.CompletionItemKind.Property,
    "parameter": lsp.CompletionItemKind.Variable,
}
_UNITS = {
    lsp.PositionEncodingKind.Utf8: "utf-8",
    lsp.PositionEncodingKind.Utf16: "utf-16-le",
}


class Text:
    """A text with the positions that the protocol counts: lines, and units within them."""

    def __init__(self, text: str, encoding: lsp.PositionEncodingKind | str) -> None:
        self.text = text
        self._codec = _UNITS.get(lsp.PositionEncodingKind(encoding))
        self._width = 2 if self._codec == "utf-16-le" else 1

    @cached_property
    def _starts(self) -> list[int]:
        """Where lines begin; they end with a line feed, a carriage return, or both."""
        starts, text = [0], self.text
        for i, ch in enumerate(text):
            if ch == "\n" or (ch == "\r" and text[i + 1 : i + 2] != "\n"):
                starts.append(i + 1)
        return starts

    def position(self, offset: int) -> lsp.Position:
        """The position of a character offset."""
        line = bisect_right(self._starts, offset) - 1
        before = self.text[self._starts[line] : offset]
        return lsp.Position(line, self._units(before))

    def _units(self, text: str) -> int:
        if self._codec is None:
            return len(text)
        return len(text.encode(self._codec, "surrogatepass")) // self._width

    def offset(self, position: lsp.Position) -> int:
        """The character offset of a position; beyond the end of a line, the line's end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        last = position.line + 1 >= len(self._starts)
        end = len(self.text) if last else self._starts[position.line + 1]
        line = self.text[start:end].rstrip("\r\n")
        units = 0
        for i, ch in enumerate(line):
            if units >= position.character:
                return start + i
            units += self._units(ch)
        return start + len(line)

    def range(self, start: int, end: int) -> lsp.Range:
        """The range between two character offsets."""
        return lsp.Range(self.position(start), self.position(end))


class Server(LanguageServer):
    """The language server with what it remembers of the open texts."""

    def __init__(self) -> None:
        super().__init__(
            "serq", serq.__version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental
        )
        self.checks: dict[str, asyncio.Task[None]] = {}

    def source(self, uri: str) -> tuple[Source, Path | None, Text]:
        """The text of a document, the directory of its file, and its positions."""
        document = self.workspace.get_text_document(uri)
        path = uris.to_fs_path(uri) if uri.startswith("file:") else None
        text = document.source
        return (
            Source(path or uri, text),
            None if path is None else Path(path).parent,
            Text(text, self.workspace.position_encoding or lsp.PositionEncodingKind.Utf16),
        )

    def symbols(self, uri: str) -> tuple[Source, Text, Symbols]:
        """The text of a document and what it declares."""
        source, directory, text = self.source(uri)
        return source, text, symbols_of(source, directory)

    def check_soon(self, uri: str) -> None:
        """Check a document once its text has rested for `PAUSE` seconds."""
        waiting = self.checks.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self.checks[uri] = asyncio.ensure_future(self._check_later(uri))

    async def _check_later(self, uri: str) -> None:
        await asyncio.sleep(PAUSE)
        self.check_now(uri)

    def check_now(self, uri: str) -> None:
        """Check a document and tell the editor what was found."""
        document = self.workspace.get_text_document(uri)
        source, directory, text = self.source(uri)
        found = [shown(d, source, text) for d in check(source, directory)]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, found, version=document.version)
        )


def shown(diagnostic: Diagnostic, source: Source, text: Text) -> lsp.Diagnostic:
    """A diagnostic as the protocol has it; one of a library stands where the text uses it."""
    span, message = diagnostic.span, diagnostic.message
    related = []
    if span is not None and span.source.name != source.name:
        line, column = span.source.position(span.start)
        message = f"{span.source.name}:{line}:{column}: {message}"
        related.append(_related(span, "here", source, text))
        span = _use_of(source, span.source.name)
    if span is None and diagnostic.where and diagnostic.where != source.name:
        message = f"{diagnostic.where}: {message}"
    if diagnostic.help:
        message += f"\nhelp: {diagnostic.help}"
    for note, place in diagnostic.notes:
        if place is None:
            message += f"\nnote: {note}"
        else:
            related.append(_related(place, note, source, text))
    start, end = (0, 0) if span is None else (span.start, max(span.end, span.start + 1))
    return lsp.Diagnostic(
        range=text.range(start, min(end, len(text.text))),
        message=message,
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        source="serq",
        related_information=related or None,
    )


def _related(span: Span, note: str, source: Source, text: Text) -> lsp.DiagnosticRelatedInformation:
    own = span.source.name == source.name
    lines = text if own else Text(span.source.text, lsp.PositionEncodingKind.Utf16)
    return lsp.DiagnosticRelatedInformation(
        lsp.Location(_uri(span.source.name), lines.range(span.start, span.end)), note
    )


def _uri(name: str) -> str:
    if name.startswith(("file:", "untitled:")):
        return name
    return uris.from_fs_path(str(Path(name).resolve())) or name


def _use_of(source: Source, library: str) -> Span | None:
    """The ``use`` of a text that names a library's file."""
    name = Path(library).name
    at = source.text.find(f'{name}"')
    if at < 0:
        return None
    start = source.text.rfind('"', 0, at)
    return Span(source, start, at + len(name) + 1)


def server() -> Server:
    """A server with its features, not started."""
    made = Server()

    @made.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        ls.check_now(params.text_document.uri)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        ls.check_soon(params.text_document.uri)

    @made.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(ls: Server, params: lsp.DidSaveTextDocumentParams) -> None:
        ls.check_now(params.text_document.uri)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        waiting = ls.checks.pop(params.text_document.uri, None)
        if waiting is not None:
            waiting.cancel()
        ls.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(params.text_document.uri, [])
        )

    @made.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        source, text, symbols = ls.symbols(params.text_document.uri)
        found = hover(source, text.offset(params.position), symbols)
        if found is None:
            return None
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text)
        return lsp.Hover(content, text.range(found.start, found.end))

    @made.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "~", "("])
    )
    def completed(ls: Server, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        source, text, symbols = ls.symbols(params.text_document.uri)
        items = completions(source.text, text.offset(params.position), symbols)
        return [
            lsp.CompletionItem(
                label=item.label,
                kind=_ITEM_KINDS[item.kind],
                detail=item.detail or None,
                documentation=item.text or None,
                sort_text=f"{i:04}",
            )
            for i, item in enumerate(items)
        ]

    @made.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(ls: Server, params: lsp.DefinitionParams) -> list[lsp.Location]:
        source, text, symbols = ls.symbols(params.text_document.uri)
        found = definitions(source, text.offset(params.position), symbols)
        return [_location(symbol, source, text) for symbol in found]

    @made.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatted(ls: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        from serq.syntax.format import format_source

        source, _, text = ls.source(params.text_document.uri)
        try:
            laid_out = format_source(source.text, source.name)
        except SerqError:
            return []  # the diagnostics say why
        if laid_out == source.text:
            return []
        return [lsp.TextEdit(text.range(0, len(source.text)), laid_out)]

    return made


def _location(symbol: Symbol, source: Source, text: Text) -> lsp.Location:
    own = symbol.source.name == source.name
    lines = text if own else Text(symbol.source.text, lsp.PositionEncodingKind.Utf16)
    return lsp.Location(_uri(symbol.source.name), lines.range(symbol.start, symbol.end))


def serve() -> None:
    """Serve one editor on standard input and output, until it says to stop."""
    server().start_io()
