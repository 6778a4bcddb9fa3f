"""Write docs/results/speed.md from what `bes bench speed` measures.

python scripts/speed.py                measure (needs BES_DATA; growth takes up to an hour, and goes on where it was)
python scripts/speed.py --parts roofline,growth --limit-minutes 50      only these, the rest as it is kept
python scripts/speed.py --again        growth too is measured anew, whatever is kept
python scripts/speed.py --large 0      without shaping at 10^7 nodes, the last and longest of growth
python scripts/speed.py --write        write the page from the committed records alone
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from recorded import ROOT, write

from bes.bench.figures import save
from bes.bench.speed import PARTS, Kept, measure
from bes.bench.speed.figure import draw
from bes.bench.speed.growth import LARGE
from bes.bench.speed.kept import Line
from bes.bench.speed.page import page
from bes.bench.store import pack, unpack
from bes.bench.terminal import show_timing
from bes.console import out as console

RECORDS = ROOT / "results" / "speed.jsonl.gz"
PAGE = ROOT / "docs" / "results" / "speed.md"
FIGURE = PAGE.parent / "figures" / "speed"


def run(parts: list[str], minutes: float | None, large: int, *, again: bool) -> None:
    """Measure, from the committed records on; keep what was found and draw it."""
    kept = Kept(ROOT / "runs" / "speed")
    if not kept.path.exists() and RECORDS.exists():
        kept.path.parent.mkdir(parents=True, exist_ok=True)
        kept.path.write_text("".join(json.dumps(line) + "\n" for line in recorded()))
    if again:
        kept.forget(parts)
    for one in measure(kept, parts, minutes, large):
        show_timing(one, console)
        keep(kept)  # so that what was measured stays when the rest is stopped
    save(draw(kept.lines()), FIGURE)


def keep(kept: Kept) -> None:
    """The committed records are what is kept."""
    pack([{**line, "place": place} for place, line in enumerate(kept.lines())], RECORDS)


def documents() -> dict[Path, str]:
    """The page as the committed records, and nothing else, make it."""
    return {PAGE: page(recorded(), f"figures/{FIGURE.name}.png")}


def recorded() -> list[Line]:
    """The committed lines, in the order in which they were first measured."""
    return sorted(unpack(RECORDS), key=lambda line: line["place"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="only write the page, from the committed records")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--limit-minutes", type=float, help="begin nothing more after so many")
    parser.add_argument("--again", action="store_true", help="measure growth anew, too")
    parser.add_argument("--large", type=int, default=LARGE, help="nodes for shaping alone; 0 leaves it out")
    given = parser.parse_args()
    if not given.write:
        run(given.parts.split(",") if given.parts else [], given.limit_minutes, given.large, again=given.again)
    write(documents())
