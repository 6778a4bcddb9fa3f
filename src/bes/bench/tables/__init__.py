"""Filled sheets for people: Markdown, LaTeX and one HTML page."""

from bes.bench.tables.comparison import comparison_grid
from bes.bench.tables.latex import to_latex
from bes.bench.tables.markdown import to_markdown
from bes.bench.tables.page import to_html

__all__ = ["comparison_grid", "to_html", "to_latex", "to_markdown"]
