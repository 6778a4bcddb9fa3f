"""The store of a benchmark: nothing twice, nothing half, and found again by what was run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bes.bench.store import Store, pack, unpack
from bes.bench.units import Unit, failed
from bes.config import RunConfig
from bes.errors import InputError
from bes.records import library_version

Quick = Callable[..., RunConfig]

DATA = "d" * 64


def lost(unit: Unit, arm: str = "bes", data: str = DATA) -> dict[str, Any]:
    return failed(unit, arm, "It was killed.", data)


def done(unit: Unit, arm: str = "bes", data: str = DATA, acc: float = 0.5) -> dict[str, Any]:
    record = {**lost(unit, arm, data), "status": "done", "metrics": {"test": {"acc": acc}}}
    del record["error"]
    return record


def lines(store: Store) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.file.read_text().splitlines()]


@pytest.fixture
def unit(quick: Quick) -> Unit:
    return Unit(quick(), 3)


@pytest.fixture
def open_store(tmp_path: Path) -> Callable[[], Store]:
    """The store, read anew from its folder."""
    return lambda: Store(tmp_path / "some" / "store", library_version())


def test_what_is_added_is_there_again(open_store: Callable[[], Store], unit: Unit) -> None:
    store = open_store()
    assert store.of(unit, DATA) == {}
    assert store.records() == []
    records = [done(unit, "control"), done(unit, "bes")]
    store.add(records)
    for found in (store, open_store()):
        assert found.records() == records
        assert found.of(unit, DATA) == {"control": records[0], "bes": records[1]}
        assert found.done(records[0]["run_id"])
        assert found.of(Unit(unit.config, 3, ("bes",)), DATA) == {"bes": records[1]}
        assert found.of(Unit(unit.config, 4), DATA) == {}


def test_lines_are_appended_and_on_the_disk_at_once(
    open_store: Callable[[], Store], unit: Unit, quick: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    store.add([done(unit)])
    first = store.file.read_bytes()
    synced = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(os.fstat(handle).st_size)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    store.add([done(Unit(quick(), 4)), done(Unit(quick(), 5))])
    content = store.file.read_bytes()
    assert content.startswith(first)
    assert content.count(b"\n") == 3
    assert synced[-1] == len(content), "synced after the last byte"


def test_a_finished_run_is_never_recorded_twice(open_store: Callable[[], Store], unit: Unit) -> None:
    store = open_store()
    store.add([done(unit, acc=0.25)])
    store.add([done(unit, acc=0.75)])
    open_store().add([done(unit, acc=1.0), lost(unit)])
    assert [line["metrics"]["test"]["acc"] for line in lines(store)] == [0.25]
    assert open_store().of(unit, DATA)["bes"]["metrics"]["test"]["acc"] == 0.25


def test_not_even_when_it_is_twice_among_what_is_added(open_store: Callable[[], Store], unit: Unit) -> None:
    store = open_store()
    store.add([done(unit), done(unit)])
    assert len(lines(store)) == 1


def test_not_even_by_one_who_looked_before_another_finished(open_store: Callable[[], Store], unit: Unit) -> None:
    early, other = open_store(), open_store()
    with other.alone():
        other.add([done(unit)])
    with early.alone():
        assert early.done(done(unit)["run_id"])
        early.add([done(unit)])
    assert len(lines(early)) == 1


def test_a_failed_run_that_is_done_later_counts_as_done(open_store: Callable[[], Store], unit: Unit) -> None:
    store = open_store()
    store.add([lost(unit)])
    assert not store.done(lost(unit)["run_id"])
    assert store.of(unit, DATA)["bes"]["error"] == "It was killed."
    store.add([lost(unit)])
    store.add([done(unit)])
    for found in (store, open_store()):
        assert found.done(lost(unit)["run_id"])
        assert found.of(unit, DATA)["bes"]["status"] == "done"
        assert len(found.records()) == 1
    assert [line["status"] for line in lines(store)] == ["failed", "failed", "done"], "and nothing is forgotten"


def test_a_line_that_a_kill_cut_short_is_cut_off_and_run_again(
    open_store: Callable[[], Store], unit: Unit, quick: Quick
) -> None:
    first, second = done(unit), done(Unit(quick(), 4))
    store = open_store()
    store.add([first, second])
    whole = store.file.read_bytes()
    os.truncate(store.file, len(whole) - 20)
    back = open_store()
    assert back.records() == [first]
    assert not back.done(second["run_id"])
    with back.alone():
        back.add([second])
    assert store.file.read_bytes() == whole


def test_looking_leaves_the_line_that_another_is_writing(open_store: Callable[[], Store], unit: Unit) -> None:
    store = open_store()
    with store.alone():
        store.add([done(unit)])
        with store.file.open("a") as file:
            file.write('{"status": "do')
        size = store.file.stat().st_size
        assert open_store().of(unit, DATA)
        assert store.file.stat().st_size == size


def test_a_damaged_store_and_a_file_in_its_place_are_refused(open_store: Callable[[], Store], tmp_path: Path) -> None:
    store = open_store()
    store.file.write_text("{}}\n")
    with pytest.raises(InputError, match=r"records\.jsonl is damaged: .*\.$"):
        open_store()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file cannot be written .*: choose another --out\.$"):
        Store(tmp_path / "file", "1")


def test_anew_sets_earlier_records_aside(open_store: Callable[[], Store], unit: Unit, tmp_path: Path) -> None:
    store = open_store()
    for i in range(1, 3):
        store.add([done(unit)])
        before = store.file.read_bytes()
        with store.alone(anew=True):
            assert store.records() == []
            assert store.known_hash("small") is None
        assert open_store().records() == []
        assert (store.path / f"records.{i}.jsonl").read_bytes() == before
    nothing = Store(tmp_path / "none", library_version())
    with nothing.alone(anew=True):
        assert nothing.records() == []


# What a unit finds


@pytest.mark.parametrize("gone", [("shaper", "targets"), ("links", "repeats"), ("allow_missing_classes",)])
def test_records_of_before_an_option_existed_still_count(
    open_store: Callable[[], Store], quick: Quick, gone: tuple[str, ...]
) -> None:
    store, unit = open_store(), Unit(quick(), 0)
    record = {**done(unit), "run_id": "of then"}
    *sections, key = gone
    place = record["config"]
    for section in sections:
        place = place[section]
    del place[key]
    store.add([record])
    for found in (store, open_store()):
        assert found.of(unit, DATA) == {"bes": record}
        assert found.of(Unit(quick(shaper={"targets": "all"}), 0), DATA) == {}
    store.add([done(unit)])
    assert len(lines(store)) == 1, "it is the same run"


def test_an_option_that_is_gone_leaves_the_record_readable(open_store: Callable[[], Store], unit: Unit) -> None:
    record = done(unit)
    record["config"]["shaper"]["magic"] = 1
    open_store().add([{**record, "run_id": "of then"}])
    assert open_store().records()[0]["run_id"] == "of then"
    assert open_store().of(unit, DATA) == {}, "who knows what it did"


def test_other_data_versions_seeds_and_settings_are_other_runs(
    open_store: Callable[[], Store], unit: Unit, quick: Quick
) -> None:
    store = open_store()
    record = done(unit)
    record["versions"] = {**record["versions"], "bes": "0.0.1"}
    store.add([record])
    assert store.of(unit, DATA) == {}
    assert Store(store.path, "0.0.1").of(unit, DATA) == {"bes": record}
    store.add([done(unit)])
    assert set(store.of(unit, DATA)) == {"bes"}
    assert store.of(unit, "e" * 64) == {}
    assert store.of(Unit(quick(selection="test-peek"), 3), DATA) == {}
    assert store.of(Unit(quick(shaper={"tau": 3.0}), 3), DATA) == {}


def test_the_data_of_the_latest_record_are_known(open_store: Callable[[], Store], unit: Unit, quick: Quick) -> None:
    store = open_store()
    assert store.known_hash("small") is None
    store.add([done(unit, data="a" * 64)])
    store.add([done(Unit(quick(), 4), data="b" * 64)])
    assert store.known_hash("small") == open_store().known_hash("small") == "b" * 64


# Alone, and packed


HOLD = """
import sys
from pathlib import Path
from bes.files import alone_in
with alone_in(Path(sys.argv[1]), "bes bench"):
    print("held", flush=True)
    input()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no lock there")
def test_a_second_writer_is_refused_until_the_first_ends(open_store: Callable[[], Store]) -> None:
    store = open_store()
    with store.alone():
        pass
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, store.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="Another `bes bench` writes into") as caught, store.alone():
            pass
        assert "\n" not in str(caught.value)
        assert str(caught.value).endswith(": wait for it, or choose another --out.")
        other.kill()  # however it ends
    with store.alone(), pytest.raises(InputError, match="Another"), open_store().alone():
        pass
    with store.alone():
        pass


def test_packed_records_are_the_same_bytes_in_any_order_at_any_time(
    unit: Unit, quick: Quick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [done(unit, "control"), done(unit), lost(Unit(quick(), 4))]
    turned = [dict(reversed(record.items())) for record in reversed(records)]
    pack(records, tmp_path / "one.gz")
    monkeypatch.setattr(time, "time", lambda: 1e9)
    pack(turned, tmp_path / "two.gz")
    pack(records[1:], tmp_path / "less.gz")
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    assert (tmp_path / "one.gz").read_bytes() != (tmp_path / "less.gz").read_bytes()

    def by_id(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(found, key=lambda record: record["run_id"])

    assert by_id(unpack(tmp_path / "one.gz")) == by_id(records)
