"""Pages for a browser: the report of a run as one self-contained HTML file."""
