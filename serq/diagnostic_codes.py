"""Every diagnostic code with one sentence on what it means; the documentation page is its table."""

from __future__ import annotations

CODES: dict[str, str] = {}

# --- syntax -------------------------------------------------------------------------------------
CODES |= {
    "bad-argument-name": "The name of an input is not a name: letters, digits and `_`.",
    "bad-number": "Digits that do not make a number.",
    "duplicate-settings": "An instance file gives a setting, or its `run { … }`, twice.",
    "main-in-library": "A file read as a library has a `fn main ()`.",
    "missing-semicolon": "A statement or a declaration is not ended by `;`.",
    "more-errors": "There are more errors than are shown.",
    "nested-too-deep": "Brackets, blocks or operators nest deeper than the documented limit.",
    "no-main": "A program has no `fn main ()`.",
    "syntax": "The text does not follow the grammar at the place shown.",
    "text-too-long": "The text has more words and signs than the documented limit.",
    "unclosed-comment": "A `/*` comment is not closed.",
    "unclosed-text": "Text in quotes is not closed on its line.",
    "unexpected-character": "A character that belongs to no word and no sign of the language.",
    "unknown-aggregate": "An aggregate over an index is `max`, `min` or `sum`.",
    "unknown-function": "A module of the language has no function of this name.",
    "unreadable-text": "So many characters make no sense that the text cannot be a program.",
}

# --- names, definitions, families, sugar (lowering and linking) ---------------------------------
CODES |= {}

# --- reading an IR document ---------------------------------------------------------------------
CODES |= {
    "ir-duplicate-field": "An object of the IR document names one of its fields twice.",
    "ir-extension": "The IR document uses an extension that this version of serQ does not know.",
    "ir-missing-field": "An object of the IR document lacks a field it must have.",
    "ir-number": "A number of the IR document is outside what its field can hold.",
    "ir-syntax": "The IR document is not JSON, or ends in the middle.",
    "ir-too-deep": "The IR document is nested more deeply than the reader goes.",
    "ir-type": "A value of the IR document has the wrong shape for its field.",
    "ir-variant": "The IR document names a kind of construct that does not exist.",
    "ir-version": "The IR document has another version than this reader's.",
}

# --- rules on the IR (validation) ---------------------------------------------------------------
CODES |= {}

# --- run time -----------------------------------------------------------------------------------
CODES |= {
    "erlang-phases": "An Erlang draw has so many phases that it would not end.",
    "trace-empty": "A trace file has no row.",
    "trace-row": "A row of a trace has the wrong number of fields, or a field that is no number.",
}

# --- command line, files, settings --------------------------------------------------------------
CODES |= {
    "bad-setting": "A setting of the run or an input has a value that no run can have.",
    "duplicate-input": "An instance file gives an input twice.",
    "inputs-on-ir": "Inputs and definitions are set on a program's text; an IR has none.",
    "no-horizon": "Nothing says how long to run.",
    "unreadable-file": "A file cannot be read, or is not UTF-8 text.",
    "unwritable-file": "An output file cannot be written; nothing of it is left behind.",
}

# --- Lean, oracle and other commands ------------------------------------------------------------
CODES |= {
    "cache-unwritable": "The cache directory cannot be written; SERQ_CACHE names another one.",
    "disk-full": "There is not enough space left to write what the command needs.",
    "lean-corrupt": "A downloaded package is not the file that serQ knows by its hash.",
    "lean-download": "A package could not be downloaded: no network, a refusal, or a cut.",
    "lean-import-cycle": "Lean modules import each other in a circle.",
    "lean-install": "Assembling the registry Lean failed, or the result fails its self-test.",
    "lean-library-missing": "This installation of serQ came without its Lean library.",
    "lean-native": "The native `lake` that was found does not work.",
    "lean-no-module": "A Lean module is named that does not exist.",
    "lean-not-installed": "The Lean that SERQ_LEAN asks for is not there.",
    "lean-offline": "A file must be fetched, and --offline forbids it.",
    "lean-platform": "The registry Lean does not run on this kind of machine.",
    "lean-setting": "The environment variable SERQ_LEAN has a value that means nothing.",
    "target-vllm": "A construct of the program has no counterpart in vLLM's scheduler.",
}
