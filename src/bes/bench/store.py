"""The store of a benchmark: append-only lines, one record an arm of a run, on the disk as the run ends."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from bes.bench.units import Unit
from bes.config import RunConfig
from bes.errors import InputError
from bes.files import alone_in, free_name, whole_file
from bes.pipeline.tuning import Study
from bes.records import RECORDS, append_lines, library_version, read_lines, writing
from bes.run_ids import as_written, run_id
from bes.summary import Record


class Store:
    """The records of a folder, by run id; a run that was tried again counts by its latest record.

    Args:
        path: The folder; made if absent.
        version: The library's version whose runs are looked for.
    """

    def __init__(self, path: Path, version: str) -> None:
        self.path = path
        self.version = version
        self._latest: dict[str, Record] = {}
        self._hashes: dict[str, str] = {}
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
            self._read(mend=False)

    def _read(self, *, mend: bool) -> None:
        self._latest.clear()
        self._hashes.clear()
        for record in read_lines(self.file, mend=mend):
            self._note(record)

    @property
    def file(self) -> Path:
        return self.path / RECORDS

    def _note(self, record: Record) -> None:
        self._latest[_identity(record)] = record
        self._hashes[record["dataset"]] = record["data_hash"]

    def add(self, records: Iterable[Record]) -> None:
        """Append what is new; a finished run is never recorded twice."""
        given = {_identity(record): record for record in records}
        new = [record for run, record in given.items() if not self.done(run)]
        if new:
            with writing(self.path):
                append_lines(self.file, new)
        for record in new:
            self._note(record)

    def done(self, run: str) -> bool:
        return run in self._latest and not has_failed(self._latest[run])

    def known_hash(self, dataset: str) -> str | None:
        """The hash of the data that the latest record of a data set was made from."""
        return self._hashes.get(dataset)

    def of(self, unit: Unit, data_hash: str) -> dict[str, Record]:
        """The records of a unit's arms, as far as there are any."""
        ids = unit.run_ids(data_hash, self.version)
        return {arm: self._latest[run] for arm, run in ids.items() if run in self._latest}

    def study(self, units: Iterable[Unit], data_hash: str) -> Study | None:
        """What tuning found for a group of units, by the record of the first one that has any."""
        for unit in units:
            for record in self.of(unit, data_hash).values():
                if not has_failed(record):
                    return Study.of(record["method"])
        return None

    def records(self) -> list[Record]:
        return list(self._latest.values())

    @contextmanager
    def alone(self, *, anew: bool = False) -> Iterator[None]:
        """Nobody else writes into the folder meanwhile; the records are read again, and mended, first.

        Args:
            anew: Set the records aside, under another name, and begin from none.
        """
        with alone_in(self.path, "bes bench"):
            with writing(self.path):
                if anew and self.file.exists():
                    self.file.rename(free_name(self.file))
                self._read(mend=True)
            yield


def has_failed(record: Record) -> bool:
    """Records of `bes run` have no status: they are of runs that came to their end."""
    return bool(record.get("status") == "failed")


def _identity(record: Record) -> str:
    """The run id that this version's configurations give: an option that came later is what was done before it."""
    try:
        config = _config(json.dumps(record["config"]))
    except InputError:  # an option that is gone
        return str(record["run_id"])
    version = record.get("versions", {}).get("bes") or library_version()
    return run_id(config, record["data_hash"], version, record["seed"], record["arm"])


@cache
def _config(text: str) -> RunConfig:
    return as_written(json.loads(text))


def pack(records: Iterable[Record], path: Path) -> None:
    """Records as a compressed file, the same bytes for the same records in any order."""
    lines = sorted(json.dumps(record, sort_keys=True) for record in records)
    with whole_file(path) as temporary:
        temporary.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode(), mtime=0))


def unpack(path: Path) -> list[dict[str, Any]]:
    """The records of a file that `pack` wrote."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
