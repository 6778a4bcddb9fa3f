"""Names of records: what changes them, and that those of before stay."""

from __future__ import annotations

import hashlib
import json
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from bes.config import RunConfig
from bes.run_ids import as_written, run_id
from bes.settings import _paths


def other(model: type[BaseModel], name: str, value: Any) -> Any:
    """Another valid value of a field."""
    if isinstance(value, dict):
        return {"gcn": {}}
    choices = [choice for choice in get_args(model.model_fields[name].annotation) if isinstance(choice, str)]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value / 2 + 0.001
    if isinstance(value, tuple):
        return (*value, "mlp")
    if name == "shrinkage":
        return 0.5
    if name == "displacement_sample":
        return 100
    return next(choice for choice in choices if choice != value) if choices else f"{value}x"


def variants(plan: RunConfig) -> dict[str, RunConfig]:
    """The configuration with each key changed in turn; `task` has one value yet."""
    found = {}
    for name, value in plan:
        if isinstance(value, BaseModel):
            for leaf, inner in value:
                changed = value.model_copy(update={leaf: other(type(value), leaf, inner)})
                found[f"{name}.{leaf}"] = plan.model_copy(update={name: changed})
        elif name != "task":
            found[name] = plan.model_copy(update={name: other(RunConfig, name, value)})
    return found


FULL = ("batching", "n_parts", "parts_per_step")  # auto and full are the same run, which has no parts


@pytest.mark.parametrize(
    ("shaping", "batching", "idle"),
    [("layers", "auto", ("encoder_shaper.", *FULL)), ("encoders", "auto", ("shaper.", *FULL)),
     ("layers", "parts", ("encoder_shaper.",))],
)  # fmt: skip
def test_every_key_changes_the_run_id_but_those_that_are_not_read(
    shaping: str, batching: str, idle: tuple[str, ...]
) -> None:
    plan = RunConfig.build("mine", given={"shaping": shaping, "batching": batching})
    changed = variants(plan)
    assert set(changed) == {path for path in _paths(RunConfig) if path != "task"}
    own = run_id(plan, "hash", "1", 0, "bes")
    ids = {name: run_id(variant, "hash", "1", 0, "bes") for name, variant in changed.items()}
    assert {name for name, found in ids.items() if found == own} == {name for name in ids if name.startswith(idle)}
    used = [found for found in ids.values() if found != own]
    assert len(set(used)) == len(used)


@pytest.mark.parametrize(
    ("shaping", "idle", "later"),
    [
        ("layers", "encoder_shaper", {"displacement_sample": None}),
        ("encoders", "shaper", {"trust": 0.2, "sizes": None}),
    ],
)
def test_what_was_kept_before_an_option_came_is_what_was_done_then(
    shaping: str, idle: str, later: dict[str, Any]
) -> None:
    """Such a record has the id that it had."""
    plan = RunConfig.build("mine", given={"shaping": shaping})
    section = "shaper" if shaping == "layers" else "encoder_shaper"
    kept = plan.model_dump(mode="json")
    del kept["scoring"]
    for name in later:
        del kept[section][name]
    found = as_written(kept)
    assert {name: getattr(getattr(found, section), name) for name in later} == later
    used = {key: value for key, value in kept.items() if key not in (idle, *FULL)}
    text = "\n".join([json.dumps(used, sort_keys=True, separators=(",", ":")), "hash", "1", "0", "bes"])
    assert run_id(found, "hash", "1", 0, "bes") == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert as_written(plan.model_dump(mode="json")) == plan, "what it says counts"


@pytest.mark.parametrize(("shaping", "idle"), [("layers", "encoder_shaper"), ("encoders", "shaper")])
def test_options_that_did_nothing_when_they_came_are_at_their_defaults(shaping: str, idle: str) -> None:
    """So that a run that was kept before them is the same run."""
    plan = RunConfig.build("mine", given={"shaping": shaping})
    kept = plan.model_dump(mode="json")
    for name in ("trust", "sizes") if idle == "encoder_shaper" else ("displacement_sample",):
        del kept[idle][name]
    assert as_written(kept) == plan


def test_data_version_seed_and_arm_change_the_run_id() -> None:
    plan = RunConfig.build("mine")
    ids = [
        run_id(plan, "hash", "1", 0, "bes"),
        run_id(plan, "hasj", "1", 0, "bes"),
        run_id(plan, "hash", "2", 0, "bes"),
        run_id(plan, "hash", "1", 1, "bes"),
        run_id(plan, "hash", "1", 0, "control"),
    ]
    assert len(set(ids)) == len(ids)
    assert run_id(RunConfig.build("mine"), "hash", "1", 0, "bes") == ids[0]
