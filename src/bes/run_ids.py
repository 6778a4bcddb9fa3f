"""What names a record, and configurations that were kept before some options came."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from bes.config import RunConfig, sorted_json
from bes.settings import validate

#: Sections by how shaping is done that it has no part in.
_IDLE = {"layers": {"encoder_shaper"}, "encoders": {"shaper"}}

#: Options that a full batch, which `auto` is until a run settles it, has no use for.
_PARTS = {"batching", "n_parts", "parts_per_step"}

#: Options that came when there were records already, with the value at which all is as it was: run ids are too.
_LATER = (
    ("encoder_shaper", "trust", 0.2),
    ("encoder_shaper", "sizes", None),
    ("shaper", "displacement_sample", None),
)


def as_written(content: Mapping[str, Any]) -> RunConfig:
    """A configuration that was kept, perhaps before some options came: those are at what was done then.

    Those of a section that shaping had no part in did nothing, and are at their defaults.
    """
    full = dict(content)
    idle = _IDLE.get(full.get("shaping", "layers"), ())
    for section, name, usual in _LATER:
        if section not in idle and isinstance(full.get(section), Mapping):
            full[section] = {name: usual, **full[section]}
    return validate(RunConfig, full)


def run_id(config: RunConfig, data_hash: str, version: str, seed: int, arm: str) -> str:
    """Names one record: what its configuration uses, data, library version, seed and arm."""
    idle = _IDLE[config.shaping] | (set() if config.batching == "parts" else _PARTS)
    used = config.model_dump(mode="json", exclude=idle)
    for section, name, usual in _LATER:
        if section in used and used[section][name] == usual:
            del used[section][name]
    if used["scoring"] == "accuracy":  # it came later too
        del used["scoring"]
    text = "\n".join([sorted_json(used), data_hash, version, str(seed), arm])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
