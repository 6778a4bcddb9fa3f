"""`bes shape`: the plug-in alone. `bes doctor`: what this installation is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bes.cli.app import Device, Json, Quiet, Settings, app


@app.command()
def shape(
    embeddings: Annotated[Path, typer.Argument(help="Embeddings [N, D] as .npy.")],
    labels: Annotated[Path, typer.Option(help="Classes [N] as .npy, -1 where unknown.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the shaped embeddings go, as .npy.")],
    edges: Annotated[Path | None, typer.Option(help="Edges [2, E] as .npy, for scope=neighbors and the like.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the fitted shaper in this directory.")] = None,
    settings: Settings = None,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sharpen embeddings where classes meet: the plug-in alone."""
    from bes import console
    from bes.plugin import shape_files

    show = not (quiet or as_json)
    shaper, notes = shape_files(embeddings, labels, out, edges, save, settings or [], device or "auto", show=show)
    if as_json:
        console.print_json({"layers": console.layers(shaper), "notes": notes, "out": str(out)})
    elif not quiet:
        console.print_shaping(shaper, notes, out)


@app.command()
def doctor(as_json: Json = False) -> None:
    """What this installation is: versions, devices, threads, data."""
    from bes import console

    found = console.installation()
    if as_json:
        console.print_json(found)
    else:
        console.print_installation(found)
