"""Settings as people write them, in files and as `key=value`, and complaints about them as one sentence."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bes.errors import InputError, did_you_mean

Model = TypeVar("Model", bound=BaseModel)


def read_file(path: Path) -> dict[str, Any]:
    """A configuration from `.yaml` or `.json`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"The configuration {path} cannot be read: give a readable .yaml or .json file.") from None
    if path.suffix == ".json":
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
            raise InputError(f"The configuration {path} is not valid JSON{where}: mend it.") from None
    else:
        try:
            import yaml
        except ImportError:
            raise InputError(f"Reading {path} needs PyYAML: pip install pyyaml, or write it as .json.") from None
        try:
            content = yaml.safe_load(text) or {}
        except (yaml.YAMLError, ValueError, AttributeError, IndexError, RecursionError):  # PyYAML lets them through
            raise InputError(f"The configuration {path} is not valid YAML: mend it.") from None
    if not isinstance(content, dict):
        raise InputError(f"The configuration {path} must hold keys and values, not a {type(content).__name__}.")
    return content


def parse_settings(settings: Sequence[str], model: type[BaseModel]) -> dict[str, Any]:
    """`key=value` pairs to a nested mapping; a key of one section may leave the section's name out."""
    result: dict[str, Any] = {}
    known = _paths(model)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"The setting '{setting}' has no value: write key=value.")
        paths = [path for path in known if path == key or path.endswith("." + key)]
        exact = [path for path in paths if path == key]
        if len(exact or paths) != 1:
            raise InputError(_unknown_setting(key, paths, known))
        *sections, leaf = (exact or paths)[0].split(".")
        place = result
        for section in sections:
            place = place.setdefault(section, {})
        place[leaf] = _value(text)
    return result


def parse_options(settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`name.option=value` to options by name."""
    result: dict[str, dict[str, Any]] = {}
    for setting in settings:
        key, _, text = setting.partition("=")
        name, _, option = key.partition(".")
        result.setdefault(name, {})[option] = _value(text)
    return result


def validate(model: type[Model], content: Mapping[str, Any]) -> Model:
    """Pydantic's check, its complaints as one sentence."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        known = {name for path in _paths(model) for name in path.split(".")}  # pydantic adds which part of a union
        unknown = first["type"] == "extra_forbidden"
        where = ".".join(str(part) for part in first["loc"] if unknown or part in known)
        if unknown:
            raise InputError(_unknown_setting(where, [], _paths(model))) from None
        raise InputError(f"The setting {where}={first['input']!r} is not valid: {first['msg'].lower()}.") from None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _paths(model: type[BaseModel], prefix: str = "") -> list[str]:
    paths = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            paths += _paths(kind, f"{prefix}{name}.")
        else:
            paths.append(prefix + name)
    return paths


def _unknown_setting(key: str, paths: list[str], known: list[str]) -> str:
    if paths:
        return f"The setting {key!r} could be {' or '.join(paths)}: write one of them in full."
    leaves = list(dict.fromkeys(path.rpartition(".")[2] for path in known))
    close = difflib.get_close_matches(key.rpartition(".")[2], leaves, n=3)
    near = [path for leaf in close for path in known if path.rpartition(".")[2] == leaf]
    section = key.rpartition(".")[0]
    near = [path for path in near if section and path.startswith(section + ".")] or near
    hint = did_you_mean(near, f"known are {', '.join(known)}.")
    return f"The setting {key!r} is not known: {hint}"


def merge(base: dict[str, Any], over: Mapping[str, Any]) -> None:
    """Lay `over` on `base`, section by section; None leaves a section or plain key as it is, and is a value within."""
    _lay(base, {key: value for key, value in over.items() if value is not None})


def _lay(base: dict[str, Any], over: Mapping[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            _lay(base[key], value)
        else:
            base[key] = dict(value) if isinstance(value, Mapping) else value
