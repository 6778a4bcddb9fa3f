import pytest

from bes.config import RunConfig
from bes.errors import InputError
from bes.settings import merge, parse_settings


def test_settings_find_their_section() -> None:
    found = parse_settings(["n_iter=3", "encoders.lr=0.5", "split=low:3", "allow_missing_classes=true"], RunConfig)
    assert found == {
        "shaper": {"n_iter": 3},
        "encoders": {"lr": 0.5},
        "split": "low:3",
        "allow_missing_classes": True,
    }


def test_a_key_of_several_sections_must_be_written_in_full() -> None:
    with pytest.raises(InputError, match=r"'lr' could be encoders\.lr or encoder_shaper\.lr or decoder\.lr"):
        parse_settings(["lr=0.1"], RunConfig)
    assert parse_settings(["boundary=pairs"], RunConfig) == {"links": {"boundary": "pairs"}}


def test_merging_goes_section_by_section_and_none_is_a_value_only_within_one() -> None:
    base = {"a": {"b": 1, "c": 2}, "d": 3, "g": {"h": 6}}
    over = {"a": {"b": 4, "c": None}, "d": None, "e": {"f": 5}, "g": None}
    merge(base, over)
    assert base == {"a": {"b": 4, "c": None}, "d": 3, "e": {"f": 5}, "g": {"h": 6}}
    assert base["e"] is not over["e"], "what is merged in is not changed by later merges"
