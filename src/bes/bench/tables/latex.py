"""A filled sheet as a LaTeX table; the packages it needs are named on top of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bes.bench.fill import FilledSheet
from bes.bench.tables.grid import Grid, Text, grid_of
from bes.bench.tables.words import sentence

#: After the end of a row `[` and `*` are read as its options; `<`, `>` and `|` are other signs in the old fonts.
ESCAPES = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "%&_#${}"},
        **{sign: f"{{{sign}}}" for sign in "[]*"},
        **{sign: f"${sign}$" for sign in "<>|"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "\N{MULTIPLICATION SIGN}": r"$\times$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "→": r"$\to$",
        "\N{MINUS SIGN}": "$-$",
        "\N{EN DASH}": "--",
        "\N{EM DASH}": "---",
    }
)

#: A difference as the grid writes it.
SIGNED = re.compile(r"[+-]\d+\.\d+")

MARKS = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "missing": r"\textit{%s}"}

TABLE = r"""%% needs \usepackage{booktabs,graphicx}
\begin{table*}[t]
\centering
\caption{%(caption)s}
\label{tab:%(label)s}
\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%%
\begin{tabular}{%(columns)s}
\toprule
%(head)s
\midrule
%(body)s
\bottomrule
\end{tabular}}
\end{table*}
"""


def to_latex(filled: FilledSheet | Grid) -> str:
    """A `table*` in the manner of booktabs, as wide as the page at most."""
    grid = grid_of(filled)
    return TABLE % {
        "caption": _caption(grid),
        "label": re.sub(r"[^A-Za-z0-9/:.-]+", "-", grid.name),
        "columns": "l" + "".join("r" for group in grid.groups for _ in group.heads),
        "head": "\n".join(_head(grid)),
        "body": "\n".join(
            _row([escape(line.name), *(_marked(text) for group in line.groups for text in group)])
            for line in grid.lines
        ),
    }


def escape(text: str) -> str:
    """The text on one line, as it is read and not as LaTeX."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable()).translate(ESCAPES)


def _caption(grid: Grid) -> str:
    warning = rf" \textbf{{{escape(grid.warning)}.}}" if grid.warning else ""
    sentences = (grid.protocol, *grid.about, grid.legend("Bold", "Underlined"), grid.note)
    return f"{escape(sentence(grid.title))}{warning} {' '.join(escape(text) for text in sentences if text.strip())}"


def _head(grid: Grid) -> Iterable[str]:
    titles = [rf"\multicolumn{{{len(group.heads)}}}{{c}}{{{escape(group.title)}}}" for group in grid.groups]
    yield _row(["", *titles])
    first, rules = 2, []
    for group in grid.groups:
        rules.append(rf"\cmidrule(lr){{{first}-{first + len(group.heads) - 1}}}")
        first += len(group.heads)
    yield " ".join(rules)
    heads = [escape(head).replace(" - ", " $-$ ") for group in grid.groups for head in group.heads]
    yield _row(["", *heads])


def _row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _marked(text: Text) -> str:
    plain = escape(text.full)
    if SIGNED.fullmatch(plain):
        plain = f"${plain[0]}${plain[1:]}"
    return MARKS.get(text.mark, "%s") % plain
