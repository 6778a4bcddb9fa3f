"""Figures as files: PNG for the screen, SVG for the printer, the same bytes each time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bes.bench.figures.drawing import need
from bes.errors import InputError
from bes.files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Dots an inch of what is not lines.
DPI = 300

#: SVG names its parts by a hash: without a salt of our own, another one each time.
_SAME = {"svg.hashsalt": "bes", "svg.fonttype": "path", "path.simplify": True}


def save(figure: Figure, path: str | Path) -> list[Path]:
    """Write `path`.png and `path`.svg, each whole or not at all; the same figure gives the same bytes.

    The places of the panels are settled at the first call, and stay.
    """
    path = Path(path)
    with need("matplotlib").rc_context(_SAME):
        if (engine := figure.get_layout_engine()) is not None:
            figure.set_dpi(DPI)
            engine.execute(figure)
            figure.set_layout_engine("none")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return [_write(figure, path, "png", {}), _write(figure, path, "svg", {"Date": None})]
        except OSError as error:
            raise InputError(
                f"The figure {path} cannot be written ({error.strerror}): choose another folder."
            ) from None


def _write(figure: Figure, path: Path, kind: str, metadata: dict[str, Any]) -> Path:
    target = path.with_name(f"{path.name}.{kind}")
    with whole_file(target) as temporary:
        figure.savefig(temporary, format=kind, dpi=DPI, metadata=metadata)
    return target
