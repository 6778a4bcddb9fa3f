"""One report of several runs, with a comparison on top."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bes.errors import InputError
from bes.report import methods
from bes.report.content import figures
from bes.report.html import section, write_page, write_run
from bes.stored import StoredRun
from bes.summary import headline, verdict

#: The file by which a run's folder is known.
RECORDS = "records.jsonl"

#: Runs with a map, and characters of all runs' sections, at most.
MAPS, LENGTH = 6, 13_000_000


def find_runs(paths: list[Path]) -> list[StoredRun]:
    """The runs in these folders, or anywhere below them, each once; a run that has no finished seed is passed over."""
    found: dict[Path, StoredRun] = {}
    for path in paths:
        if (path / RECORDS).is_file():
            folders = [path]
        else:
            records = sorted(path.rglob(RECORDS)) if path.is_dir() else []
            folders = [record.parent for record in records if record.stat().st_size]
        if not folders:
            what = "holds no finished run" if path.is_dir() else "is not a folder"
            raise InputError(f"{path} {what}: give a folder that `bes run` left in its --out, or one that holds such.")
        for folder in folders:
            found.setdefault(folder.resolve(), StoredRun(folder))
    return list(found.values())


def write_comparison(
    runs: list[StoredRun], out: Path, over: Callable[[list[StoredRun]], Iterable[StoredRun]] = list
) -> Path:
    """Write one report of the runs to `out` and return it; a single run gets the report it always has.

    Args:
        over: Goes through the runs, as a progress bar does.
    """
    if not runs:
        raise InputError("There is no run to report on: give folders that `bes run` left in its --out.")
    out = Path(out)
    if out.is_dir():
        raise InputError(f"{out} is a folder: give the name of a file, such as {out / 'report.html'}.")
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{out} is no name for a page: let it end in .html.")
    if len(runs) == 1:
        write_run(out, runs[0])
        return out
    labels = run_labels(runs)
    sections: list[dict[str, Any]] = []
    length = maps = 0
    for place, run in enumerate(over(runs)):
        text = section(run, f"run{place}-", with_map=maps < MAPS)
        length += len(text)
        if sections and length > LENGTH:
            break
        maps += run.config.paired and maps < MAPS
        sections.append({"label": labels[place], "html": Markup(text)})
    write_page(
        out,
        "comparison.html",
        rows=[{"label": label, **row(run)} for label, run in zip(labels, runs, strict=True)],
        labels=labels,
        differing=differing([run.config.model_dump(mode="json") for run in runs]),
        other_data=other_data(runs),
        sections=sections,
        paired=sum(run.config.paired for run in runs),
        most_maps=MAPS,
        maps=maps,
    )
    return out


def run_labels(runs: list[StoredRun]) -> list[str]:
    """What runs are called: their folders' names, or as much of the way to them as tells them apart."""
    names = [run.path.resolve().name for run in runs]
    if len(set(names)) == len(names):
        return names
    top = os.path.commonpath([run.path.resolve() for run in runs])
    return [run.path.resolve().relative_to(top).as_posix() for run in runs]


def row(run: StoredRun) -> dict[str, Any]:
    """A run in a line; its verdict is what follows the figures in the sentence."""
    told = verdict(run.records) if run.config.paired else methods.verdict(run.records)
    return {
        "dataset": run.name,
        "task": run.config.task,
        "preset": run.config.preset,
        "split": run.config.split,
        "seeds": len(run.seeds),
        "metric": headline(run.records)[1],
        "paired": run.config.paired,
        **(figures(run) if run.config.paired else best(run)),
        "verdict": told.rsplit(": ", 1)[-1].removesuffix("."),
        "peeked": run.config.selection == "test-peek",
    }


def best(run: StoredRun) -> dict[str, str]:
    """For a run of methods: the one that is best on validation, and its headline metric on the test part."""
    first = methods.rows(run.records)[0]
    figure = next(iter(first["test"].values()))
    return {"best": first["method"], "figure": figure} if first["best"] else {"best": "none", "figure": ""}


def differing(configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The keys in which configurations are not all the same, each with its values, a run a value."""
    flat = [_flat(config) for config in configs]
    keys = dict.fromkeys(key for one in flat for key in one)
    rows = [{"key": key, "values": [one.get(key, "") for one in flat]} for key in keys]
    return [row for row in rows if len(set(row["values"])) > 1]


def other_data(runs: list[StoredRun]) -> list[str]:
    """Names of data sets under which runs have read data that are not the same."""
    hashes: dict[str, set[str]] = {}
    for run in runs:
        hashes.setdefault(run.config.dataset, set()).update(record["data_hash"] for record in run.records)
    return [name for name, found in hashes.items() if len(found) > 1]


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Sections as dotted keys, values as text."""
    found: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            found[prefix + key] = ", ".join(map(str, value))
        else:
            found[prefix + key] = value if isinstance(value, str) else json.dumps(value)
    return found
