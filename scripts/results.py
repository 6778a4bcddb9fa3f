"""Write docs/results/ from recorded runs of every suite, running first what is not recorded yet.

python scripts/results.py              run what is missing (needs BES_DATA), keep the records, write pages and figures
python scripts/results.py --suites few-labels,no-labels --limit-minutes 60      only these, and start nothing more then
python scripts/results.py --write      write the pages from the committed records alone
python scripts/results.py --look       keep which data sets are not here (needs BES_DATA), and write the pages
python scripts/results.py --check      see that every page is what the committed records make of it
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import cost_model
import first_look
import large
import links
import speed
import when_it_helps
from reached import reached
from recorded import ROOT, between, versions, write
from results_claims import ranks_text
from results_text import README_TEXT, SUITE_TEXT, overview

from bes.bench.board import LiveBoard
from bes.bench.compare import metrics_of
from bes.bench.data import Data
from bes.bench.output import Filled, figure_files, markdown
from bes.bench.runner import Runner
from bes.bench.store import Store, pack, unpack
from bes.bench.suites import SUITES
from bes.bench.units import units_of
from bes.console import out as console
from bes.graph.catalog import available
from bes.graph.datasets import known
from bes.graph.variants import base_name
from bes.records import library_version
from bes.summary import Record

RECORDS = ROOT / "results" / "bench.jsonl.gz"
ABSENT = ROOT / "results" / "absent.json"
PAGES = ROOT / "docs" / "results"
FIGURES = PAGES / "figures"
README = ROOT / "README.md"


def measure(folder: Path, jobs: int, names: list[str], minutes: float | None) -> None:
    """Run these suites, from the committed records on; keep the records and draw the figures."""
    suites = [make() for make in SUITES.values()]
    store = Store(folder, library_version())
    if RECORDS.exists():
        with store.alone():
            store.add(record for record in unpack(RECORDS) if _usable(record))
    with LiveBoard(console, store.records()) as board:
        Runner([SUITES[name]() for name in names], store).run(board, jobs=jobs, minutes=minutes)
    runner = Runner(suites, store)
    pack(_asked(runner), RECORDS)
    look()
    FIGURES.mkdir(parents=True, exist_ok=True)
    for suite in suites:
        files, notes = figure_files(Filled.of(suite, store, runner.data), FIGURES)
        for path in files:
            if path.suffix == ".svg" and path.stat().st_size > 300_000:
                path.unlink()  # thousands of points: the PNG is enough in a repository
        print(suite.name, *notes, *(path.name for path in files), flush=True)
    filled = [sheet for suite in suites for sheet in Filled.of(suite, store, runner.data).sheets]
    when_it_helps.draw({sheet.sheet.name: sheet for sheet in filled})


def look() -> None:
    """Keep which data sets of the suites are not here: the records cannot tell them from those not measured yet."""
    here = {info.name: bool(place) for info, place in available()}
    asked = {base_name(unit.config.dataset) for unit in units_of([make() for make in SUITES.values()])}
    ABSENT.write_text(json.dumps(sorted(name for name in asked if not here[name]), indent=2) + "\n")


def _usable(record: Record) -> bool:
    return record["status"] == "done" and bool(record["versions"]["bes"] == library_version())


def _asked(runner: Runner) -> list[Record]:
    """The records that the suites ask for; those of data that are not here now were made elsewhere, and stay."""
    found = []
    for unit in runner.units:
        data = runner.data[unit.config.dataset]
        known_as = data.hash or runner.store.known_hash(data.name)
        found += runner.store.of(unit, known_as).values() if known_as else []
    return list({record["run_id"]: record for record in found}.values())


def documents() -> dict[Path, str]:
    """The pages as the committed records, and nothing else, make them."""
    records, missed = unpack(RECORDS), set(json.loads(ABSENT.read_text()))
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), max(str(record["versions"]["bes"]) for record in records))
        store.add(records)
        suites = [make() for make in SUITES.values()]
        asked = dict.fromkeys(unit.config.dataset for unit in units_of(suites))
        data = {name: _data(name, store, missed) for name in asked}
        filled = {suite.name: Filled.of(suite, store, data) for suite in suites}
    unknown = {base_name(name) for name in asked if data[name].hash is None}
    absent, later = sorted(unknown & missed), sorted(unknown - missed - {n for n in asked if data[n].hash})
    by_id = {record["run_id"]: record for record in records}
    pages = {PAGES / f"{name}.md": _page(one, by_id, absent) for name, one in filled.items()}
    sheets = {sheet.sheet.name: sheet for one in filled.values() for sheet in one.sheets}
    short, whole = overview(sheets, _titles(absent), _titles(later))
    titles = "\n".join(f"- [{one.suite.title}]({name}.md)" for name, one in filled.items())
    pages[PAGES / "README.md"] = README_TEXT.format(stamp=_stamp(records), overview=whole, suites=titles)
    pages[when_it_helps.PAGE] = when_it_helps.page(sheets)
    return {**pages, **reached(sheets), README: between(README, "bench", short)}


def _data(name: str, store: Store, missed: set[str]) -> Data:
    """What the records of a data set were made from; where there are none, whether it was here at all."""
    known_as = store.known_hash(name)
    return Data(name, known_as, "It was not here." if known_as is None and base_name(name) in missed else "")


def _titles(names: list[str]) -> list[str]:
    return [info.title if (info := known(name)) else name for name in names]


def _page(filled: Filled, by_id: dict[str, Record], absent: list[str]) -> str:
    used = [by_id[run] for sheet in filled.sheets for cell in sheet.cells for run in cell.runs.values()]
    drawn = _figures(filled)
    asked = {base_name(unit.config.dataset) for unit in units_of([filled.suite])}
    return (
        SUITE_TEXT.format(
            title=filled.suite.title,
            name=filled.suite.name,
            stamp=_stamp(used or list(by_id.values())),
            figures="\n".join(f"![{name}](figures/{name}.png)\n" for name in drawn),
            ranks=_ranks(filled),
            tables=markdown(filled),
            absent=_absent(sorted(asked & set(absent))),
        ).rstrip()
        + "\n"
    )


def _ranks(filled: Filled) -> str:
    """A paragraph a sheet and metric whose methods can be ranked over data sets."""
    texts = [
        f"{metric.name[0].upper()}{metric.name[1:]}. {text}\n"
        for sheet in filled.sheets
        if sheet.sheet.reference and sheet.sheet.protocol.honest
        for metric in metrics_of(sheet)
        if (text := ranks_text(sheet, metric))
    ]
    return "\n".join(texts)


def _figures(filled: Filled) -> list[str]:
    """The figures of a suite that were drawn when its runs were made."""
    wanted = [rf"{sheet.sheet.name}(-[a-z0-9]+)?-ranks" for sheet in filled.sheets]
    wanted += [rf"{filled.suite.figure}(-[a-z]+)?"] if filled.suite.figure else []
    names = sorted(path.stem for path in FIGURES.glob("*.png"))
    return [name for name in names if any(re.fullmatch(pattern, name) for pattern in wanted)]


def _absent(names: list[str]) -> str:
    if not names:
        return ""
    commands = "\n".join(
        f"- {title}: `bes data add {name} --from DIR`" for title, name in zip(_titles(names), names, strict=True)
    )
    return f"## Data sets that were not here\n\nTheir cells are empty. With the published files in DIR:\n\n{commands}\n"


def _stamp(records: list[Record]) -> str:
    days = sorted({record["date"] for record in records})
    machines = sorted({record["machine"] for record in records})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{when}; {' and '.join(machines)}; {versions(records)}"


def check() -> None:
    """Exit with a complaint if a page differs from what the records say."""
    made = [
        page
        for part in (
            documents,
            first_look.documents,
            links.documents,
            speed.documents,
            large.documents,
            cost_model.documents,
        )
        for page in part().items()
    ]
    pages = dict(made)  # README.md has a part of each
    wrong = dict.fromkeys(path for path, text in made if not path.exists() or path.read_text() != text)
    for path in wrong:
        print(f"{path.relative_to(ROOT)} is not what the committed records say.")
    lost = [f"{path.name}: {name}" for path in pages for name in _linked(path) if not (path.parent / name).exists()]
    for name in lost:
        print(f"A figure is missing: {name}")
    if wrong or lost:
        sys.exit(1)
    numbers = sum(len(re.findall(r"\d+\.\d+", path.read_text())) for path in pages)
    print(f"{numbers} numbers in {len(pages)} documents are what the committed records say.")


def _linked(path: Path) -> list[str]:
    return re.findall(r"!\[[^]]*\]\(((?:figures/)?[\w-]+\.png)\)", path.read_text()) if path.exists() else []


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="only write the pages, from the committed records")
    parser.add_argument("--look", action="store_true", help="only look which data sets are here, and write the pages")
    parser.add_argument("--check", action="store_true", help="only see that the pages are what the records say")
    parser.add_argument("--store", type=Path, default=ROOT / "runs" / "bench", help="where runs are recorded")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--suites", default=",".join(SUITES), help="whose missing runs are made; all, if left out")
    parser.add_argument("--limit-minutes", type=float, help="start no run after so many")
    given = parser.parse_args()
    names = given.suites.split(",")
    if unknown := [name for name in names if name not in SUITES]:
        parser.error(f"--suites: there is no suite {unknown[0]}; there are {', '.join(SUITES)}.")
    if given.check:
        check()
    else:
        if given.look:
            look()
        elif not given.write:
            measure(given.store, given.jobs, names, given.limit_minutes)
        write(documents())
