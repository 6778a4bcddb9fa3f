"""Filled sheets and figures as one HTML page that needs no other file and runs no script."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from importlib import resources

import jinja2

from bes.bench.fill import FilledSheet
from bes.bench.tables.grid import Grid, grid_of
from bes.errors import InputError

#: An image that carries its own data.
DATA = re.compile(r"data:image/[a-z0-9.+-]+[;,]")


def to_html(
    sheets: Sequence[FilledSheet | Grid], *, title: str, figures: Sequence[tuple[str, str]] = (), intro: str = ""
) -> str:
    """One page of the sheets and, below them, the figures.

    Args:
        figures: Title and picture of each: the text of an SVG file, or a `data:image/...` URI.
        intro: A few sentences under the title; an empty line starts a new paragraph.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_file("page.html.jinja")).render(
        title=title,
        paragraphs=[text for text in re.split(r"\n\s*\n", intro) if text.strip()],
        grids=[grid_of(filled) for filled in sheets],
        figures=[(name, _embedded(name, picture)) for name, picture in figures],
        style=_file("page.css"),
    )


def _embedded(name: str, picture: str) -> str:
    """The picture as a data URI."""
    if DATA.match(picture):
        return picture
    if "<svg" not in picture or "http://www.w3.org/2000/svg" not in picture:
        raise InputError(f"The figure {name!r} is no picture: give the text of an SVG file or a data:image/... URI.")
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}"


def _file(name: str) -> str:
    return resources.files("bes.bench.tables").joinpath(name).read_text(encoding="utf-8")
