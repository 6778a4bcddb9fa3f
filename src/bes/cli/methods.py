"""`bes methods`: what `bes run --method` can run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bes.cli.app import Json, app, method_names


@app.command()
def methods(
    name: Annotated[
        str | None, typer.Argument(help="A method, to see its options and settings.", autocompletion=method_names)
    ] = None,
    as_json: Json = False,
) -> None:
    """Every method of `bes run --method`; or one with its options, its settings by data set, and what tuning tries."""
    from bes import console
    from bes.models.baselines import METHODS

    found = [_row(known) for known in METHODS] if name is None else _one(name)
    if as_json:
        console.print_json(found)
    elif isinstance(found, list):
        _print_all(found)
    else:
        _print_one(found)


def _row(name: str) -> dict[str, Any]:
    from bes.models.baselines import METHODS, make_method
    from bes.models.baselines.settings import sources_of

    entry = METHODS[name]
    tasks = ["node", "link"] if entry.kind.pairs else ["node"]
    if entry.kind.pairs and not make_method(name, {}).learns_classes:  # edges give no classes of nodes
        tasks.append("edge")
    return {"name": name, "what": entry.what, "tasks": tasks, "settings": sources_of(name)}


def _one(name: str) -> dict[str, Any]:
    from bes.models.baselines import METHODS
    from bes.models.baselines.settings import search_space
    from bes.models.convs import pick

    entry = pick(METHODS, name, "method")
    searched = {"search": search_space(name)}
    if entry.kind.pairs:
        searched["pair_search"] = search_space(name, pairs=True)
    return {**_row(name), "options": entry.options, "by_data_set": _by_data_set(name), **searched}


def _by_data_set(name: str) -> list[dict[str, Any]]:
    """A row a source and data set: all settings under `*`, then what differs from them, for nodes and for pairs."""
    from bes.graph.datasets import CATALOG
    from bes.models.baselines.settings import settings_of, sources_of

    rows = []
    for source in sources_of(name):
        every = settings_of(name, "*", source=source)
        pairs = _other(settings_of(name, "*", source=source, pairs=True), every)
        rows += [_settings(source, "*", every), _settings(source, "*", pairs, pairs=True)]
        for dataset in CATALOG:
            own = settings_of(name, dataset, source=source)
            rows.append(_settings(source, dataset, _other(own, every)))
            of_pairs = settings_of(name, dataset, source=source, pairs=True)
            rows.append(_settings(source, dataset, _other(of_pairs, {**own, **pairs}), pairs=True))
    return [row for row in rows if row["options"]]


def _settings(source: str, dataset: str, options: dict[str, Any], *, pairs: bool = False) -> dict[str, Any]:
    return {"settings": source, "dataset": dataset, "pairs": pairs, "options": options}


def _other(options: dict[str, Any], than: dict[str, Any]) -> dict[str, Any]:
    """The options that are not the same."""
    return {key: value for key, value in options.items() if key not in than or than[key] != value}


def _print_all(rows: list[dict[str, Any]]) -> None:
    from bes.models.heuristics import HEURISTICS

    also = f"For links also {', '.join(HEURISTICS)}, which have no options; bes stands for control and bes."
    _print_table(
        {"caption": f"{also} `bes methods NAME` tells the options and settings of one."},
        ("name", "what", "tasks", "settings"),
        [(row["name"], row["what"], ", ".join(row["tasks"]), ", ".join(row["settings"])) for row in rows],
    )


def _print_one(found: dict[str, Any]) -> None:
    """Its options, its settings, and what tuning tries."""
    from bes import console

    console.out.print(f"{found['name']}: {found['what']}. Tasks: {', '.join(found['tasks'])}.", markup=False)
    options = [(key, _text(value)) for key, value in found["options"].items()]
    _print_table({"title": "options"}, ("option", "default"), options)
    settings = [
        (row["settings"], row["dataset"], "pairs" if row["pairs"] else "", _listed(row["options"]))
        for row in found["by_data_set"]
    ]
    caption = "* is every data set; the other rows say what differs. An option that is not named has its default."
    _print_table({"title": "settings", "caption": caption}, ("settings", "data set", "for", "options"), settings)
    for key, title in (("search", "what --tune tries"), ("pair_search", "what --tune tries for pairs")):
        tried = [(option, ", ".join(map(_text, values))) for option, values in found.get(key, {}).items()]
        if tried:
            _print_table({"title": title}, ("option", "values"), tried)


def _print_table(about: dict[str, str], heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from bes import console

    shown = Table(title=about.get("title"), caption=about.get("caption"))
    for place, head in enumerate(heads):
        shown.add_column(head, no_wrap=place == 0, overflow="fold")
    for row in rows:
        shown.add_row(*map(escape, row))
    console.out.print(shown)


def _listed(options: dict[str, Any]) -> str:
    return ", ".join(f"{key}={_text(value)}" for key, value in options.items())


def _text(value: Any) -> str:
    """A value as --set takes it."""
    return value if isinstance(value, str) else json.dumps(value)
