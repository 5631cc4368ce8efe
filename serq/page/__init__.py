"""Pages for a browser: the report of a run as one self-contained HTML file.

`serq.page.report_page.page` makes it. Templates and scales are shared with the timelines.
"""
