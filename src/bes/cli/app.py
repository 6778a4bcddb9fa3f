"""The application, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Boundary Embedding Shaping for graph embeddings.")
data = typer.Typer(no_args_is_help=True, help="The data sets: what is here, is it whole, add one.")
app.add_typer(data, name="data")


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"bes {version('bes-graph')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Boundary Embedding Shaping for graph embeddings."""


def words(*known: str) -> Callable[[str], list[str]]:
    """Completion from a fixed list; after a comma the next word is completed."""

    def complete(incomplete: str) -> list[str]:
        *before, last = incomplete.split(",")
        return [",".join([*before, word]) for word in known if word.startswith(last)]

    return complete


def data_sets(incomplete: str) -> list[str]:
    """Names of the catalogue, for completion."""
    from bes.graph.datasets import CATALOG

    return [name for name in CATALOG if name.startswith(incomplete)]


def method_names(incomplete: str) -> list[str]:
    """Names of methods, for completion."""
    from bes.models.baselines import METHODS

    return words(*METHODS)(incomplete)


Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any option by its name; may be repeated.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Device = Annotated[
    str | None, typer.Option(help="auto, cpu, cuda, ... \\[default: auto]", autocompletion=words("auto", "cpu", "cuda"))
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A folder that `bes run` left in its --out.")]
