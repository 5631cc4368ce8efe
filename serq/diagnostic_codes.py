"""Every diagnostic code with one sentence on what it means; the documentation page is made of it."""

from __future__ import annotations

CODES: dict[str, str] = {}

# --- syntax -------------------------------------------------------------------------------------
CODES |= {
    "syntax": "The text does not follow the grammar at the place shown.",
}

# --- names, definitions, families, sugar (lowering and linking) ---------------------------------
CODES |= {}

# --- rules on the IR (validation) ---------------------------------------------------------------
CODES |= {}

# --- run time -----------------------------------------------------------------------------------
CODES |= {
    "erlang-phases": "An Erlang draw has so many phases that it would not end.",
}

# --- command line, files, settings --------------------------------------------------------------
CODES |= {}

# --- Lean, oracle and other commands ------------------------------------------------------------
CODES |= {}
