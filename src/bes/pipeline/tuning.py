"""Settings of a method chosen on validation: a fixed number of trials, the same for every method."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch

from bes import seeding
from bes.errors import InputError
from bes.models.baselines import make_method
from bes.models.baselines.method import Method
from bes.models.baselines.problem import Answer, Problem
from bes.models.baselines.settings import search_space
from bes.training import Score

if TYPE_CHECKING:
    import optuna

#: Trials whose settings are drawn at random, after the first.
AT_RANDOM = 4

#: Whose proposals at random a control gets, as far as it has the options: else the luck of the draw would come between
#: the two.
LIKE = {"unshaped": "shaped", "strong-unshaped": "strong"}

#: The score of settings under which training failed.
FAILED = (-1.0, -float("inf"))


@dataclass(frozen=True)
class Study:
    """What was tried, and the options that were best on validation.

    Attributes:
        options: The best ones, in full.
        tried: A row a trial: what differs from the first trial, its score on validation and its seconds.
        space: The values by option that could be tried.
        best: What the best trial said, in the process that tuned: on its split the method need not be trained again.
    """

    options: dict[str, Any]
    tried: list[dict[str, Any]]
    space: dict[str, list[Any]]
    best: Tried | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "best": None}

    def kept(self) -> dict[str, Any]:
        """For a file, which makes a study again."""
        return {"options": self.options, "tried": self.tried, "space": self.space}

    def as_dict(self, seed: int) -> dict[str, Any]:
        """For a record; `seed` names the split."""
        return {"trials": len(self.tried), "seed": seed, "space": self.space, "tried": self.tried}

    @classmethod
    def of(cls, method: Mapping[str, Any]) -> Study | None:
        """From what a record says of its method; None of one that was not tuned."""
        tuned = method.get("tuned")
        return None if tuned is None else cls(method["options"], tuned["tried"], tuned["space"])


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
    step: Callable[[], None] = lambda: None,
) -> Study:
    """Try `trials` settings of a method and keep what scores best on validation, the earlier one on a tie.

    The first trial is `start`. Optuna proposes the others from the method's search space (of a control, that of its
    method: `LIKE`), the first few at random, the rest by TPE; a proposal that was tried before counts and is not run
    again.

    Args:
        fixed: Options that stay as they are in `start`.
        pairs: Whether pairs are predicted.
        step: Called after each trial.
    """
    check_tuner()
    leader = LIKE.get(name, name)
    study = _new_study(leader)
    drawn = {key: values for key, values in search_space(leader, pairs=pairs).items() if key not in fixed}
    space = {key: values for key, values in drawn.items() if key in search_space(name, pairs=pairs)}
    seen: dict[str, Tried] = {}
    rows, best, kept = [], Tried(FAILED, 0.0), start
    for number in range(trials):
        trial = study.ask() if number else None
        proposed = {} if trial is None else _proposed(trial, drawn)
        options = {**start, **{key: value for key, value in proposed.items() if key in space}}
        key = repr(make_method(name, options))
        again = key in seen
        found = seen[key] if again else _try(name, options, problem_of)
        if trial is not None:
            study.tell(trial, found.score[0])
        differs = {key: value for key, value in options.items() if value != start[key]}
        rows.append({"options": differs, "score": found.score[0], "seconds": 0.0 if again else found.seconds})
        if found.error:
            rows[-1]["error"] = found.error
        if found.score > best.score:
            best, kept = found, options
        seen[key] = replace(found, answer=None)  # embeddings of all trials would fill the memory
        step()
    if best.score == FAILED:
        raise InputError(str(rows[0]["error"]))
    return Study(kept, rows, space, best)


def _new_study(name: str) -> optuna.Study:
    """A study of Optuna's, which does not announce itself."""
    import optuna

    seed = seeding.derive(0, "tune", name) % 2**32
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=AT_RANDOM)
        return optuna.create_study(direction="maximize", sampler=sampler)
    finally:
        optuna.logging.set_verbosity(before)


@dataclass(frozen=True)
class Tried:
    """One trial: its score on validation, what it said, and why it failed if it did."""

    score: Score
    seconds: float
    error: str = ""
    answer: Answer | None = None


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
    method, began = make_method(name, options), time.perf_counter()
    try:
        problem = problem_of(method)
        began = time.perf_counter()
        answer = method.fit(problem)
    except InputError as failed:
        return Tried(FAILED, time.perf_counter() - began, str(failed))
    seconds = time.perf_counter() - began
    sound = math.isfinite(answer.score[1]) and (answer.prob is None or bool(torch.isfinite(answer.prob).all()))
    if not sound:
        return Tried(FAILED, seconds, f"The method '{name}' diverged: lower its lr.")
    return Tried(answer.score, seconds, answer=answer)
