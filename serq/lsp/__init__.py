"""A language server: diagnostics, hovers, completion, definitions and layout for editors.

`serq.lsp.server.serve` speaks the Language Server Protocol on standard input and output, by
pygls (the extra ``lsp``). What it says is made in `cursor`, `symbols` and `names`, from the
tokens of a text, so that it works while the text is being written and does not parse.
"""
