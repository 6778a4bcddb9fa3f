"""`bes query`: SQL over recorded runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bes.cli.app import Json, app

if TYPE_CHECKING:
    from bes.bench.query import Result


@app.command()
def query(
    sql: Annotated[
        str | None, typer.Argument(metavar="SQL", help="What to ask; without it, the columns of runs are listed.")
    ] = None,
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="A folder with a records.jsonl, or such a file; may be repeated. \\[default: bench]",
        ),
    ] = None,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of tables.")] = False,
) -> None:
    """Ask recorded runs in SQL: the table `runs` has a row a run, `records` has all that was recorded."""
    from bes.bench import query as bench
    from bes.errors import InputError

    if as_json and as_csv:
        raise InputError("--json and --csv exclude each other: choose one.")
    found = bench.columns() if sql is None else bench.query(sql, sources or [Path("bench")])
    if as_json:
        typer.echo(json.dumps(_objects(found), indent=1, ensure_ascii=False))
    elif as_csv:
        typer.echo(_csv(found).encode(), nl=False)  # as bytes: the line ends are part of the format
    else:
        _print(found)
        if sql is None:
            typer.echo(f'For example: bes query "{bench.EXAMPLE}"')


def _objects(found: Result) -> list[dict[str, Any]]:
    """An object a row; columns of one name are told apart."""
    names = _distinct(found.columns)
    return [
        {
            name: json.loads(value) if kind == "JSON" and value is not None else _jsonable(value)
            for name, kind, value in zip(names, found.types, row, strict=True)
        }
        for row in found.rows
    ]


def _distinct(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        new, count = name, 0
        while new in found:
            count += 1
            new = f"{name}_{count}"
        found.append(new)
    return found


def _jsonable(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): _jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(inner) for inner in value]
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _csv(found: Result) -> str:
    """RFC 4180; numbers with all their digits."""
    import csv
    import io

    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(found.columns)
    writer.writerows([_text(value) for value in row] for row in found.rows)
    return out.getvalue()


def _text(value: Any) -> str:
    """A value as text; NULL is empty."""
    if value is None:
        return ""
    if isinstance(value, bool | dict | list | tuple):
        return json.dumps(_jsonable(value), ensure_ascii=False)
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _print(found: Result) -> None:
    """A table as wide as it needs to be; long text is folded."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = "1 row" if len(found.rows) == 1 else f"{len(found.rows)} rows"
    shown = Table(caption=rows, caption_justify="left")
    for place, name in enumerate(found.columns):
        right = _numbers(row[place] for row in found.rows)
        shown.add_column(Text(name), justify="right" if right else "left", max_width=60, overflow="fold")
    for row in found.rows:
        shown.add_row(*(Text(f"{value:.6g}" if isinstance(value, float) else _text(value)) for value in row))
    out = Console(highlight=False, emoji=False)
    out.width = max(out.width, out.measure(shown, options=out.options.update(width=1 << 16)).maximum)
    out.print(shown)


def _numbers(values: Iterable[Any]) -> bool:
    """Whether there are numbers and nothing else, NULL aside."""
    given = [value for value in values if value is not None]
    return bool(given) and all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in given)
