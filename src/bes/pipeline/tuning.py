"""Settings of a method chosen on validation: a fixed number of trials, the same for every method."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bes import seeding
from bes.errors import InputError
from bes.models.baselines import make_method
from bes.models.baselines.method import Method
from bes.models.baselines.problem import Problem
from bes.models.baselines.settings import search_space
from bes.training import Score

if TYPE_CHECKING:
    import optuna

#: The score of settings under which training failed.
FAILED = (-1.0, -float("inf"))


@dataclass(frozen=True)
class Study:
    """What was tried, and the options that were best on validation.

    Attributes:
        options: The best ones, in full.
        tried: A row a trial: what differs from the first trial, its score on validation and its seconds.
    """

    options: dict[str, Any]
    tried: list[dict[str, Any]]

    def as_dict(self, seed: int) -> dict[str, Any]:
        """For a record; `seed` names the split."""
        return {"trials": len(self.tried), "seed": seed, "tried": self.tried}


def check_tuner() -> None:
    if find_spec("optuna") is None:
        raise InputError("Tuning needs Optuna: pip install 'bes-graph[arena]'.")


def tune(
    name: str,
    start: dict[str, Any],
    trials: int,
    problem_of: Callable[[Method], Problem],
    fixed: Collection[str] = (),
    *,
    pairs: bool = False,
) -> Study:
    """Try `trials` settings of a method and keep what scores best on validation, the earlier one on a tie.

    The first trial is `start`. Optuna's TPE proposes the others from the method's search space; a proposal that was
    tried before counts and is not run again.

    Args:
        fixed: Options that stay as they are in `start`.
        pairs: Whether pairs are predicted.
    """
    check_tuner()
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seeding.derive(0, "tune", name) % 2**32)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    space = {key: values for key, values in search_space(name, pairs=pairs).items() if key not in fixed}
    seen: dict[str, Tried] = {}
    rows, best, kept = [], FAILED, start
    for number in range(trials):
        trial = study.ask() if number else None
        options = start if trial is None else {**start, **_proposed(trial, space)}
        key = json.dumps(options, sort_keys=True)
        again = key in seen
        seen[key] = found = seen[key] if again else _try(name, options, problem_of)
        if trial is not None:
            study.tell(trial, found.score[0])
        differs = {key: value for key, value in options.items() if value != start[key]}
        rows.append({"options": differs, "score": found.score[0], "seconds": 0.0 if again else found.seconds})
        if found.error:
            rows[-1]["error"] = found.error
        if found.score > best:
            best, kept = found.score, options
    if best == FAILED:
        raise InputError(str(rows[0]["error"]))
    return Study(kept, rows)


@dataclass(frozen=True)
class Tried:
    """One trial: its score on validation, and why it failed if it did."""

    score: Score
    seconds: float
    error: str = ""


def _proposed(trial: optuna.Trial, space: dict[str, list[Any]]) -> dict[str, Any]:
    """Values by option; lists are proposed by their place, as Optuna knows plain values only."""
    found = {}
    for key, values in space.items():
        plain = all(value is None or isinstance(value, str | int | float) for value in values)
        if plain:
            found[key] = trial.suggest_categorical(key, values)
        else:
            found[key] = values[trial.suggest_int(key, 0, len(values) - 1)]
    return found


def _try(name: str, options: dict[str, Any], problem_of: Callable[[Method], Problem]) -> Tried:
    """Settings under which training fails are the worst there are."""
    began, score, error = time.perf_counter(), FAILED, ""
    method = make_method(name, options)
    try:
        score = method.fit(problem_of(method)).score
    except InputError as failed:
        error = str(failed)
    return Tried(score, time.perf_counter() - began, error)
