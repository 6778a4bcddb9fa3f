"""What each method reached, for the docstring of its file: written from the same records as the pages."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from recorded import ROOT

from bes.bench.fill import FilledCell, FilledSheet
from bes.bench.suites.cells import webkb_note
from bes.models.baselines import METHODS

#: What begins the last paragraph of a method's docstring.
MARK = "\nReached"

WIDTH = 120

#: The sheets of each protocol.
PAPER = "the paper's settings"
NODES = {
    PAPER: ("table1-nc", "challenging-nc"),
    "tuned": ("arena-nodes",),
    "64 wide": ("full-labels",),
    "without labels": ("no-labels-accuracy",),
}
LINKS = {PAPER: ("table1-lp",), "tuned": ("arena-links-accuracy",)}

#: Points below the paper's figure that need no word.
CLOSE = 2.0

#: A method and protocol, and its cells.
Row = tuple[str, list[FilledCell]]


def reached(sheets: Mapping[str, FilledSheet]) -> dict[Path, str]:
    """Every file of a method with its last paragraph as the records have it."""
    by_file: dict[Path, list[str]] = {}
    for name, entry in METHODS.items():
        source = inspect.getsourcefile(entry.kind)
        assert source is not None
        by_file.setdefault(ROOT / Path(source).resolve().relative_to(ROOT), []).append(name)
    return {path: _with(path.read_text(), _paragraph(names, sheets)) for path, names in by_file.items()}


def _with(text: str, paragraph: str) -> str:
    head, found, rest = text.partition(MARK)
    _, quotes, tail = rest.partition('"""')
    if not (found and quotes):
        raise SystemExit(f"A method's file has no paragraph that begins with {MARK.strip()}: write one.")
    return f"{head}\n{paragraph}\n{quotes}{tail}"


def _paragraph(names: list[str], sheets: Mapping[str, FilledSheet]) -> str:
    """What the methods of one file reached on nodes and on links, and why not more; nothing of what was not run."""
    nodes, links = _table(names, sheets, NODES), _table(names, sheets, LINKS)
    parts = [] if nodes or links else ["Reached: not measured yet."]
    if nodes:
        head = "Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):"
        parts.append("\n".join([head, *map(_line, nodes), *_behind(nodes, _few_nodes)]))
    if links:
        head = "Reached on links, test accuracy on random 60/20/20 splits of the edges (`make results`, too):"
        parts.append("\n".join([head, *map(_line, links), *_behind(links, lambda lost: _leak(lost, sheets))]))
    return "\n\n".join(parts)


def _table(names: list[str], sheets: Mapping[str, FilledSheet], kinds: Mapping[str, tuple[str, ...]]) -> list[Row]:
    """A row a method and protocol that has cells."""
    rows = []
    for name in names:
        for what, titles in kinds.items():
            cells = [cell for title in titles if title in sheets for cell in sheets[title].cells if _is(cell, name)]
            rows += [(f"{name}, {what}", cells)] if cells else []
    return rows


def _is(cell: FilledCell, name: str) -> bool:
    return cell.cell.ask is not None and cell.cell.ask.arm == name and bool(cell.values)


def _line(row: Row) -> str:
    what, cells = row
    figures = [f"{_column(cell)} {_text(cell)}" for cell in cells]
    return _filled(f"{what}: {', '.join(dict.fromkeys(figures))}.")


def _behind(rows: Sequence[Row], why: Callable[[set[str]], str]) -> list[str]:
    """Where the paper prints more by over `CLOSE` than any protocol reached, and what is known of why."""
    gaps: dict[str, dict[str, float]] = {}
    for what, cells in rows:
        best = gaps.setdefault(what.partition(",")[0], {})
        for cell in cells:
            if cell.difference is not None:
                best[_column(cell)] = max(cell.difference, best.get(_column(cell), cell.difference))
    far = {name: {column: gap for column, gap in best.items() if gap < -CLOSE} for name, best in gaps.items()}
    found = [f"{name} {_signed(columns)}" for name, columns in far.items() if columns]
    if not found:
        return []
    head = f"the paper prints over {CLOSE:g} points more: {'; '.join(found)}."
    return [_filled(" ".join(filter(None, (head, why({column for columns in far.values() for column in columns})))))]


def _signed(gaps: Mapping[str, float]) -> str:
    return ", ".join(f"{column} {-gap:.1f}" for column, gap in gaps.items())


def _few_nodes(lost: set[str]) -> str:
    return webkb_note() if lost & {"Cornell", "Texas"} else ""


def _leak(lost: set[str], sheets: Mapping[str, FilledSheet]) -> str:
    """What a leak is worth to the plainest network, where the paper is out of reach."""
    cells = [cell for cell in sheets["table1-lp-leak"].cells if _is(cell, "gcn") and _column(cell) in lost]
    if not cells:
        return ""
    figures = ", ".join(f"{_column(cell)} {_text(cell)}, printed {_printed(cell)}" for cell in cells)
    return (
        "The paper does not publish how it predicts links. With the test edges left to pass messages a GCN goes "
        f"beyond what is printed for it ({figures}): a leak would explain such a gap."
    )


def _printed(cell: FilledCell) -> str:
    return cell.cell.printed.text if cell.cell.printed is not None else "nothing"


def _column(cell: FilledCell) -> str:
    return cell.cell.column.removesuffix(" NC").removesuffix(" LP")


def _filled(text: str) -> str:
    return textwrap.fill(f"- {text}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _text(cell: FilledCell) -> str:
    found = cell.summary
    error = "" if found.error is None else f" ± {found.error:.2f}"
    return f"{found.mean:.2f}{error} ({found.n})"
