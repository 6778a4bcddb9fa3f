"""Settings of the methods by data set, from the files in `configs/`: a file a method.

A file has a section a source of settings (`paper`, `official`, `ours`), in it options by data set, `*` for all:

    paper:
      "*": {lr: 0.01}
      cora: {lr: 0.02}
    link:                  # laid over any of them where pairs are predicted
      "*": {patience: 50}
    search:                # the values that tuning tries
      lr: [0.01, 0.02]
    link_search:           # laid over them where pairs are predicted, whose features the run scales; [] leaves one out
      lr: [0.005, 0.01]
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from bes.errors import InputError
from bes.models.baselines import METHODS, make_method
from bes.models.convs import pick
from bes.settings import read_file

#: Where settings may come from, the one that is used by default first.
SOURCES = ("paper", "official", "ours")

#: Everything that a file may hold.
SECTIONS = (*SOURCES, "link", "search", "link_search")

Options = dict[str, Any]


def settings_of(method: str, dataset: str, *, source: str | None = None, pairs: bool = False) -> Options:
    """The options of a method on a data set.

    Args:
        source: `paper`, `official` or `ours`; without it the first of them that the method has.
        pairs: Whether pairs are predicted.
    """
    found = _file(method)
    own = [name for name in SOURCES if name in found]
    chosen = source or own[0]
    if chosen not in own:
        raise InputError(f"The method '{method}' has no settings '{chosen}': use {' or '.join(own)}.")
    layers = [found[chosen], *([found.get("link", {})] if pairs else [])]
    return {key: value for layer in layers for name in ("*", dataset) for key, value in layer.get(name, {}).items()}


def sources_of(method: str) -> list[str]:
    """The sources of settings that a method has."""
    return [name for name in SOURCES if name in _file(method)]


def search_space(method: str, *, pairs: bool = False) -> dict[str, list[Any]]:
    """The values of options that tuning tries."""
    found = _file(method)
    space: dict[str, list[Any]] = dict(found.get("search", {}))
    if pairs:
        space.pop("features", None)
        space |= found.get("link_search", {})
    return {key: values for key, values in space.items() if values}


@cache
def _file(method: str) -> dict[str, Any]:
    pick(METHODS, method, "method")
    content = read_file(_folder() / f"{method}.yaml")
    for section, by_dataset in content.items():
        pick(dict.fromkeys(SECTIONS), section, f"section of {method}.yaml")
        rows = [{key: value} for key, values in by_dataset.items() for value in values]
        for options in rows if section.endswith("search") else by_dataset.values():
            make_method(method, options)  # a file that is wrong is found out here, not in the midst of a run
    return content


def _folder() -> Path:
    """`configs` inside an installed package, or at the root of a checkout."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parents[1] / "configs"
