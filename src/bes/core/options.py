"""The shaper's options: what each may be, checked in `fit` as scikit-learn asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

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


def check_options(options: BoundaryShaper) -> None:
    for name, kind in _CHOICES.items():
        _check_choice(name, getattr(options, name), get_args(kind))
    for name in ("n_layers", "n_iter"):
        _check_number(name, getattr(options, name), lambda v: _whole(v) and v >= 0, "a whole number from 0")
    for name in ("batch_size", "n_neighbors", "n_views", "n_heads"):
        _check_number(name, getattr(options, name), lambda v: _whole(v) and v >= 1, "a whole number from 1")
    for name in ("tau", "alpha", "eta"):
        _check_number(name, getattr(options, name), lambda v: v > 0, "a number above 0")
    for name in ("delta", "weight_decay", "tol"):
        _check_number(name, getattr(options, name), lambda v: v >= 0, "a number from 0")
    if options.displacement_sample is not None:
        sample = options.displacement_sample
        _check_number("displacement_sample", sample, lambda v: _whole(v) and v >= 2, "a whole number from 2 or None")
    _check_number("shift_threshold", options.shift_threshold, lambda v: 0 <= v < 1, "a number in [0, 1)")
    if options.shrinkage != "oas":
        _check_number("shrinkage", options.shrinkage, lambda v: 0 <= v <= 1, "a number in [0, 1] or 'oas'")


def check_group(options: BoundaryShaper, group: Group) -> None:
    """Refuse what needs all rows in one process."""
    for name, value in (("scope", "nodes"), ("labels", "soft")):
        if group.size > 1 and getattr(options, name) == value:
            raise InputError(f"{name}={value!r} needs all rows in one process: use another {name}, or one rank.")


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name}={value!r} is not known: use {', '.join(choices[:-1])} or {choices[-1]}.")


def _check_number(name: str, value: Any, test: Callable[[Any], bool], wanted: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not test(value):
        raise InputError(f"{name}={value!r} is out of range: use {wanted}.")


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer)
