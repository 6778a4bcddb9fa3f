"""The shaper's options: what each may be, checked in `fit` as scikit-learn asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from bes.core import attention, boundary, gaussians, gravity, similarity, update
from bes.core.group import Group
from bes.errors import InputError

if TYPE_CHECKING:
    from bes.core.shaper import BoundaryShaper

Neighborhood = Literal["embedding", "graph"]
Objective = Literal["centers", "pairwise"]

#: By whose labels nodes are shaped: the given ones, or also guesses for clear nodes without one.
Labels = Literal["given", "soft"]

#: What is shaped: the boundary nodes, or every labelled node, which is the ablation without boundary nodes.
Targets = Literal["boundary", "all"]

#: What tau and alpha are measured in: as printed, or by how far nodes lie from their class centres.
Unit = Literal["absolute", "spread"]

_CHOICES: dict[str, Any] = {
    "scope": attention.Scope,
    "init": attention.Init,
    "origin": boundary.Origin,
    "covariance": gaussians.Covariance,
    "neighborhood": Neighborhood,
    "labels": Labels,
    "targets": Targets,
    "objective": Objective,
    "hinge": similarity.Hinge,
    "denominator": gravity.Denominator,
    "update": update.Update,
    "alpha_unit": update.AlphaUnit,
    "unit": Unit,
}


class Range(NamedTuple):
    """What a number may be, and how that is said."""

    holds: Callable[[Any], bool]
    words: str


NATURAL = Range(lambda v: _whole(v) and v >= 0, "a whole number from 0")
COUNT = Range(lambda v: _whole(v) and v >= 1, "a whole number from 1")
POSITIVE = Range(lambda v: v > 0, "a number above 0")
NON_NEGATIVE = Range(lambda v: v >= 0, "a number from 0")
SHARE = Range(lambda v: 0 <= v <= 1, "a number in [0, 1]")
BELOW_ONE = Range(lambda v: 0 <= v < 1, "a number in [0, 1)")

_SAMPLE = Range(lambda v: _whole(v) and v >= 2, "a whole number from 2 or None")
_SHRUNK = Range(SHARE.holds, f"{SHARE.words} or 'oas'")

_RANGES = {
    NATURAL: ("n_layers", "n_iter"),
    COUNT: ("batch_size", "n_neighbors", "n_views", "n_heads"),
    POSITIVE: ("tau", "alpha", "eta"),
    NON_NEGATIVE: ("delta", "weight_decay", "tol"),
    BELOW_ONE: ("shift_threshold",),
}


def check_options(options: BoundaryShaper) -> None:
    check_choices(options, _CHOICES)
    check_numbers(options, _RANGES)
    if options.displacement_sample is not None:
        check_number(options, "displacement_sample", _SAMPLE)
    if options.shrinkage != "oas":
        check_number(options, "shrinkage", _SHRUNK)


def check_group(options: BoundaryShaper, group: Group) -> None:
    """Refuse what needs all rows in one process."""
    for name, value in (("scope", "nodes"), ("labels", "soft")):
        if group.size > 1 and getattr(options, name) == value:
            raise InputError(f"{name}={value!r} needs all rows in one process: use another {name}, or one rank.")


def check_choices(options: object, choices: Mapping[str, Any]) -> None:
    """Refuse an option that is none of its choices, a `Literal` by name."""
    for name, kind in choices.items():
        value, known = getattr(options, name), get_args(kind)
        if value not in known:
            raise InputError(f"{name}={value!r} is not known: use {', '.join(known[:-1])} or {known[-1]}.")


def check_numbers(options: object, ranges: Mapping[Range, Sequence[str]]) -> None:
    """Refuse an option that is no number of its range."""
    for wanted, names in ranges.items():
        for name in names:
            check_number(options, name, wanted)


def check_number(options: object, name: str, wanted: Range) -> None:
    value = getattr(options, name)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not wanted.holds(value):
        raise InputError(f"{name}={value!r} is out of range: use {wanted.words}.")


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer)
