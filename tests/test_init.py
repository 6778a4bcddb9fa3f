"""The public names are there, and importing them late changes nothing."""

import subprocess
import sys

import pytest

import bes


@pytest.mark.parametrize("name", bes.__all__)
def test_every_public_name_is_what_its_home_says(name):
    assert getattr(bes, name).__name__ in (name, f"bes.{name}")
    assert name in dir(bes)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        bes.nonsense  # noqa: B018


def test_importing_bes_does_not_load_torch():
    command = [sys.executable, "-c", "import bes.cli, sys; sys.exit('torch' in sys.modules)"]
    assert subprocess.run(command, check=False).returncode == 0
