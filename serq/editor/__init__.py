"""What editors know of the language: a Pygments lexer, a TextMate grammar, a language server."""
