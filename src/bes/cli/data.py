"""`bes data`: the data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bes.cli.app import Json, data, data_sets


@data.command("list")
def data_list(as_json: Json = False) -> None:
    """Every data set of the catalogue, and where it lies."""
    from bes import console
    from bes.graph.catalog import available

    if as_json:
        console.print_json(console.catalog_as_json(available()))
    else:
        console.print_catalog(available())


@data.command("verify")
def data_verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which; all that are here by default.", autocompletion=data_sets)
    ] = None,
    as_json: Json = False,
) -> None:
    """Read data sets and check their counts, and their digests where they are known."""
    from bes import console
    from bes.graph.catalog import available, verify

    chosen = names or [info.name for info, where in available() if where]
    found = []
    for name in console.track(chosen, "data sets", show=not as_json):
        found.append(verify(name))
        if not as_json:
            console.print_verified(found[-1])
    if as_json:
        console.print_json([{"name": one.info.name, "where": one.where, "sha256": one.sha256} for one in found])


@data.command("add")
def data_add(
    name: Annotated[str, typer.Argument(help="The data set's name in the catalogue.", autocompletion=data_sets)],
    source: Annotated[Path, typer.Option("--from", help="The folder with its published files.")],
) -> None:
    """Read a data set's published files, check them, and keep it under its name."""
    from bes.graph.catalog import add

    typer.echo(f"Added {name}: {add(name, source)}")
