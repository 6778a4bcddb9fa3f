"""SQL over recorded runs: DuckDB in memory, filled from `records.jsonl` and then shut off from everything else."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bes.errors import InputError
from bes.summary import Record

if TYPE_CHECKING:
    import duckdb

#: What a folder may hold; what was put away comes before what is still written to.
FILES = ("records.jsonl.gz", "records.jsonl")

#: A query to begin with.
EXAMPLE = (
    "select task, dataset, arm, setting, count(test_acc) as n, avg(test_acc) as acc from runs "
    "where honest group by all order by all"
)

#: The columns of `runs`: their type, and where in a record they come from.
COLUMNS: dict[str, tuple[str, str]] = {
    **{key: ("VARCHAR", key) for key in ("run_id", "status", "error", "dataset", "task", "split")},
    "seed": ("BIGINT", "seed"),
    **{key: ("VARCHAR", key) for key in ("arm", "selection")},
    "message": ("VARCHAR", "config.links.message"),
    "honest": ("BOOLEAN", "selection, config.links.message"),
    "scoring": ("VARCHAR", "config.scoring"),
    "setting": ("VARCHAR", "config"),
    **{f"test_{key}": ("DOUBLE", f"metrics.test.{key}") for key in ("acc", "balanced_acc", "f1", "auroc", "ap")},
    "test_hits50": ("DOUBLE", "metrics.test.hits@50"),
    **{f"val_{key}": ("DOUBLE", f"metrics.val.{key}") for key in ("acc", "balanced_acc", "f1", "auroc")},
    "test_boundary_acc": ("DOUBLE", "metrics.test_boundary.acc"),
    "seconds": ("DOUBLE", "seconds"),
    **{f"seconds_{key}": ("DOUBLE", f"seconds.{key}") for key in ("encoders", "shaping", "decoder")},
    "peak_mib": ("DOUBLE", "peak_mib"),
    "preset": ("VARCHAR", "config.preset"),
    "encoders": ("VARCHAR", "config.encoders.names"),
    "n_layers": ("BIGINT", "config.shaper.n_layers"),
    **{key: ("DOUBLE", f"config.shaper.{key}") for key in ("tau", "delta", "alpha")},
    "batch_size": ("BIGINT", "config.shaper.batch_size"),
    **{key: ("VARCHAR", f"config.shaper.{key}") for key in ("objective", "neighborhood")},
    "config": ("JSON", "config"),
    "data_hash": ("VARCHAR", "data_hash"),
    **{name: ("VARCHAR", f"versions.{key}") for name, key in (("version", "bes"), ("commit", "commit"))},
    **{key: ("VARCHAR", key) for key in ("date", "machine")},
}

#: Columns that are more than one value of a record read.
_MADE = {
    "status": "coalesce(record->>'$.status', 'done')",  # `bes run` records a seed only when it is done
    "honest": "record->>'$.selection' = 'validation' and not coalesce("
    "record->>'$.task' = 'link' and record->>'$.config.links.message' = 'all', false)",
    "scoring": "coalesce(record->>'$.config.scoring', 'accuracy')",
    "setting": "left(md5(record->>'$.config'), 8)",  # runs that differ in nothing but data, seed and arm share it
    "seconds": "list_sum([try_cast(stage as DOUBLE) for stage in (record->>'$.seconds.*')])",
    "encoders": "nullif(array_to_string(record->>'$.config.encoders.names[*]', '+'), '')",
}

#: Nothing is fetched, nothing of Python is seen, nothing is spilled to disk.
_SHUT: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
}


@dataclass(frozen=True)
class Result:
    """What a query gave; `types` are DuckDB's, a type a column."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    types: list[str]


def query(sql: str, paths: Sequence[Path]) -> Result:
    """The rows that a query gives over the records in `paths`; see `connect` for its tables.

    Raises:
        InputError: If there are no records, DuckDB is absent, or the statement is wrong or reaches outside.
    """
    with connect(paths) as database:
        from duckdb import Error

        try:
            database.execute(_plain(sql))
            described = database.description
            rows = database.fetchall() if described else []
        except Error as error:
            message = str(error).split("\n", 1)[0].rstrip(" .:!")
            raise InputError(
                f"The query cannot be run ({message}): call `bes query` without one to see the columns of runs."
            ) from None
    if not described:
        raise InputError(f"The query is empty: write one such as `{EXAMPLE}`.")
    return Result([str(column[0]) for column in described], rows, [str(column[1]) for column in described])


def columns() -> Result:
    """The columns of `runs`; needs neither records nor DuckDB."""
    rows: list[tuple[Any, ...]] = [(name, kind, where) for name, (kind, where) in COLUMNS.items()]
    return Result(["column", "type", "in a record"], rows, ["VARCHAR"] * 3)


def connect(paths: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """A database in memory with the records of `paths`, which can neither read nor write anything else.

    Its tables are `records`, every line with its file and number, nested parts as JSON; and `runs`, flat,
    where a run that was recorded again shows its latest line only.

    Args:
        paths: Files, `.jsonl` or `.jsonl.gz`, or folders that hold a `records.jsonl`; the later ones are the
            latest.
    """
    try:
        import duckdb
    except ImportError:
        raise InputError("Queries need the package duckdb: call pip install 'bes-graph[bench]'.") from None
    lines = [(file, number, record) for file in _files(paths) for number, record in _lines(file)]
    if not lines:
        raise InputError(_none(" and ".join(map(str, paths))))
    database = duckdb.connect(":memory:", config=_SHUT)
    _fill(database, lines)
    database.execute("set enable_external_access = false")
    database.execute("set lock_configuration = true")
    return database


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files meant by `paths`, each once."""
    found: dict[Path, Path] = {}
    for path in paths:
        files = [path / name for name in FILES if (path / name).is_file()] if path.is_dir() else [path]
        if not files or not files[0].exists():
            raise InputError(_none(str(path)))
        for file in files:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _none(where: str) -> str:
    return f"There are no records in {where}: make some with `bes bench table1`, or name a folder of runs by --from."


def _lines(file: Path) -> Iterator[tuple[int, Record]]:
    """The records of a file by the number of their line; a last line that a kill cut short is left out."""
    number = 0
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as content:
            for number, line in enumerate(content, start=1):
                if line.strip() and line.endswith(b"\n"):
                    yield number, _parse(line)
    except EOFError:  # a compressed file that a kill cut short
        return
    except (gzip.BadGzipFile, zlib.error):
        raise InputError(f"{file} is damaged: compress it again with gzip.") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}): check its name and its rights.") from None
    except (ValueError, RecursionError):
        raise InputError(f"Line {number} of {file} is damaged: delete that line.") from None


def _parse(line: bytes) -> Record:
    """A line as a record; numbers that JSON does not know are none."""
    record = json.loads(line, parse_constant=lambda _: None, parse_float=_finite)
    if not isinstance(record, dict):
        raise ValueError
    return record


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _plain(text: str) -> str:
    """Text that UTF-8 can hold: names of files may come with bytes that it cannot."""
    return text.encode("utf-8", "replace").decode()


def _fill(database: duckdb.DuckDBPyConnection, lines: list[tuple[Path, int, Record]]) -> None:
    """Make `records` and `runs`."""
    database.execute("create table raw (position BIGINT, source VARCHAR, line BIGINT, record JSON)")
    database.execute(
        "insert into raw select unnest(?::BIGINT[]), unnest(?::VARCHAR[]), unnest(?::BIGINT[]), unnest(?::VARCHAR[])",
        [
            list(range(len(lines))),
            [_plain(str(file)) for file, _, _ in lines],
            [number for _, number, _ in lines],
            [_plain(json.dumps(record, ensure_ascii=False)) for _, _, record in lines],
        ],
    )
    parts = ", ".join(["source", "line", *_parts([record for _, _, record in lines])])
    database.execute(f"create table records as select {parts} from raw order by position")
    flat = ", ".join(f'{_MADE.get(name) or _value(*column)} as "{name}"' for name, column in COLUMNS.items())
    database.execute(
        f"create table runs as select {flat} from raw qualify 1 = row_number() over ("
        "partition by record->>'$.run_id', if(record->>'$.run_id' is null, position, null) order by position desc"
        ") order by position"
    )
    database.execute("drop table raw")


def _value(kind: str, where: str) -> str:
    """One value of a record as a column of `runs`; what has another type is NULL."""
    return _read(kind, "$." + ".".join(f'"{key}"' for key in where.split(".")))


def _parts(records: list[Record]) -> list[str]:
    """A column of `records` for every key that a record has, in the order of their coming."""
    kinds: dict[str, set[str]] = {}
    for record in records:
        for key, value in record.items():
            kinds.setdefault(key, set()).update(_kind(value))
    taken = {"source", "line"}  # names of columns do not tell A from a
    found = []
    for key, seen in kinds.items():
        if key and key.isprintable() and key.lower() not in taken:
            taken.add(key.lower())
            pointer = "/" + key.replace("~", "~0").replace("/", "~1").replace("'", "''")
            name = key.replace('"', '""')
            found.append(f'{_read(_common(seen), pointer)} as "{name}"')
    return found


def _kind(value: Any) -> set[str]:
    """The type of a value; nested ones, whose keys differ from record to record, stay JSON."""
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return {"JSON"}
    kinds = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}
    return set() if value is None else {kinds.get(type(value), "JSON")}


def _common(kinds: set[str]) -> str:
    """One type for all values of a column."""
    if kinds == {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    return next(iter(kinds)) if len(kinds) == 1 else "JSON"


def _read(kind: str, path: str) -> str:
    """The SQL that reads a path of a record as a type."""
    if kind == "JSON":
        return f"nullif(record->'{path}', 'null'::JSON)"
    return f"record->>'{path}'" if kind == "VARCHAR" else f"try_cast(record->>'{path}' as {kind})"
