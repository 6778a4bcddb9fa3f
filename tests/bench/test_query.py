"""Queries over recorded runs: real files in, rows out, and nothing else reached."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bes.bench.query import COLUMNS, Result, columns, connect, query
from bes.errors import InputError
from bes.records import RunDirectory

pytest.importorskip("duckdb")
Record = dict[str, Any]


def record(seed: int = 0, arm: str = "bes", acc: float | None = 0.5, **more: Any) -> Record:
    return {
        "dataset": "cora",
        "task": "node",
        "split": "random",
        "seed": seed,
        "arm": arm,
        "metrics": {"val": {"acc": 0.6}, "test": {"acc": acc, "n": 10}, "test_boundary": {"acc": 0.25}},
        "seconds": {"encoders": 1.5, "shaping": 2.0, "decoder": 0.5, "evaluate": 0.25},
        "config": {"preset": "paper", "encoders": {"names": ["gcn", "cheb"]}, "shaper": {"tau": 2.0, "n_layers": 1}},
        "run_id": f"{arm}-{seed}",
        "versions": {"bes": "0.1.0", "commit": None},
        **more,
    }


def write(path: Path, *records: Any, end: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "\n".join(json.dumps(one) for one in records) + end
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


def ask(sql: str, *paths: Path) -> list[tuple[Any, ...]]:
    return query(sql, paths).rows


def test_a_record_is_a_flat_row(tmp_path: Path) -> None:
    hits = {"metrics": {"test": {"auroc": 0.9, "ap": 0.8, "hits@50": 0.7}}, "machine": "box", "date": "2026-01-02"}
    write(tmp_path / "records.jsonl", record(seed=3, acc=0.75, peak_mib=12), record(seed=4, task="link", **hits))
    found = query("select * from runs order by seed", [tmp_path])
    assert found.columns == list(COLUMNS)
    assert found.types == [kind for kind, _ in COLUMNS.values()]
    first, second = (dict(zip(found.columns, row, strict=True)) for row in found.rows)
    assert {"seed": 3, "arm": "bes", "status": "done", "error": None, "test_acc": 0.75}.items() <= first.items()
    assert {"val_acc": 0.6, "test_boundary_acc": 0.25, "peak_mib": 12.0, "test_ap": None}.items() <= first.items()
    assert {"seconds": 4.25, "seconds_encoders": 1.5, "seconds_shaping": 2.0}.items() <= first.items()
    assert {
        "preset": "paper",
        "encoders": "gcn+cheb",
        "tau": 2.0,
        "n_layers": 1,
        "delta": None,
    }.items() <= first.items()
    assert {"version": "0.1.0", "commit": None, "run_id": "bes-3"}.items() <= first.items()
    assert json.loads(first["config"]) == record()["config"]
    assert {"test_auroc": 0.9, "test_ap": 0.8, "test_hits50": 0.7, "test_acc": None}.items() <= second.items()
    assert (second["machine"], second["date"]) == ("box", "2026-01-02")


def test_a_folder_that_bes_run_left(finished: RunDirectory) -> None:
    rows = ask("select arm, seed, test_acc, seconds, status, encoders, data_hash, run_id from runs", finished.path)
    assert rows == [
        (
            one["arm"],
            one["seed"],
            one["metrics"]["test"]["acc"],
            pytest.approx(sum(one["seconds"].values())),
            "done",
            "gcn+cheb",
            finished.data_hash,
            one["run_id"],
        )
        for one in finished.records
    ]


def test_a_last_line_cut_short_is_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", record(0), record(1))
    whole = file.read_bytes()
    for cut in (1, 2, 100, len(json.dumps(record(1)))):
        file.write_bytes(whole[:-cut])
        assert ask("select seed from runs", tmp_path) == [(0,)]
    assert file.read_bytes() == whole[:-cut], "a query never writes"


def test_compressed_files_also_when_cut(tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl.gz", record(0), record(1))
    assert ask("select seed from runs", file) == [(0,), (1,)]
    write(tmp_path / "records.jsonl", record(1, acc=0.9), record(2))
    assert ask("select seed, test_acc from runs", tmp_path) == [(0, 0.5), (1, 0.9), (2, 0.5)]
    many = [record(seed, notes=[f"{seed * 7919}"]) for seed in range(500)]
    whole = write(tmp_path / "many.jsonl.gz", *many).read_bytes()
    (tmp_path / "many.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    left = ask("select seed from runs", tmp_path / "many.jsonl.gz")
    assert 0 < len(left) < 500
    assert left == [(seed,) for seed in range(len(left))]


def test_a_run_recorded_again_shows_its_latest_line(tmp_path: Path) -> None:
    failed = {**record(0), "status": "failed", "error": "out of memory"}
    del failed["metrics"]
    nameless = {key: value for key, value in record(5).items() if key != "run_id"}
    write(tmp_path / "records.jsonl", failed, record(1), nameless, nameless, record(0, acc=0.9, status="done"))
    rows = ask("select seed, status, error, test_acc from runs order by seed", tmp_path)
    assert rows == [(0, "done", None, 0.9), (1, "done", None, 0.5), (5, "done", None, 0.5), (5, "done", None, 0.5)]
    assert ask("select line, status, error from records where run_id = 'bes-0'", tmp_path) == [
        (1, "failed", "out of memory"),
        (5, "done", None),
    ]
    write(tmp_path / "later" / "records.jsonl", failed)
    assert ask("select status, test_acc from runs where seed = 0", tmp_path, tmp_path / "later") == [("failed", None)]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", record(0))
    assert ask("select count(*) from records", tmp_path, file, tmp_path / ".." / tmp_path.name) == [(1,)]


def test_configurations_and_types_may_differ(tmp_path: Path) -> None:
    odd = {
        "run_id": "odd",
        "seed": "three",
        "config": {"shaper": {"tau": "warm", "new": [1, {"a": 2}]}, "encoders": {"names": []}},
        "metrics": [1, 2],
        "seconds": 7,
        "Seed": 1,
        "it's /a\"~b": "strange",
        "": 1,
        "source": "hidden",
        "big": 2**70,
        "machine": {"cores": 2},
    }
    write(tmp_path / "records.jsonl", record(0, peak_mib=1), record(1, peak_mib=1.5, flag=True), odd, {})
    found = ask("select seed, tau, encoders, test_acc, seconds, machine from runs", tmp_path)
    assert found[0] == (0, 2.0, "gcn+cheb", 0.5, 4.25, None)
    assert found[2] == (None, None, None, None, None, '{"cores":2}')
    assert found[3] == (None,) * 6
    types = {row[0]: row[1] for row in ask("describe records", tmp_path)}
    assert (types["seed"], types["peak_mib"], types["flag"], types["arm"]) == ("JSON", "DOUBLE", "BOOLEAN", "VARCHAR")
    assert (types["config"], types["metrics"], types["big"]) == ("JSON", "JSON", "JSON")
    sql = """select config->>'$.shaper.new[1].a', "it's /a""~b" from records where run_id = 'odd'"""
    assert ask(sql, tmp_path) == [("2", "strange")]
    assert ask("select distinct source from records", tmp_path) == [(str(tmp_path / "records.jsonl"),)]


def test_null_is_null_also_where_the_rest_is_nested(tmp_path: Path) -> None:
    write(tmp_path / "records.jsonl", record(0, config=None), record(1))
    for table in ("runs", "records"):
        assert ask(f"select seed from {table} where config is null", tmp_path) == [(0,)]


def test_numbers_and_names_that_json_cannot_hold(tmp_path: Path) -> None:
    line = json.dumps(record(0, acc=float("nan"), dataset="caf\udce9.npz", peak_mib=float("inf")))
    (tmp_path / "records.jsonl").write_text(line.replace('"n": 10', '"n": 1e999') + "\n\n")
    assert ask("select dataset, test_acc, peak_mib, val_acc from runs", tmp_path) == [("caf?.npz", None, None, 0.6)]
    assert ask("select count(*) from runs where dataset = 'caf\udce9.npz'", tmp_path) == [(1,)]


@pytest.mark.parametrize("line", ["{", "[1]", "3", '{"a": 1} {"b": 2}', "\x00", '{"a":' * 100_000])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "records.jsonl").write_text(f"{json.dumps(record(0))}\n{line}\n{json.dumps(record(1))}\n")
    with pytest.raises(InputError, match=r"Line 2 of .*records\.jsonl is damaged: delete that line\."):
        query("select 1", [tmp_path])


def test_a_damaged_compressed_file(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl.gz").write_bytes(b"no gzip\n")
    with pytest.raises(InputError, match=r"records\.jsonl\.gz is damaged"):
        query("select 1", [tmp_path])


def test_no_records(tmp_path: Path) -> None:
    empty, cut = tmp_path / "empty", tmp_path / "cut"
    empty.mkdir()
    write(cut / "records.jsonl", record(0), end="")
    for path in (tmp_path / "absent", tmp_path / "absent.jsonl", empty, cut):
        with pytest.raises(InputError, match=f"no records in {path}: make some with `bes bench table1`"):
            query("select 1", [path])


def test_duckdb_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InputError, match=r"pip install 'bes-graph\[bench\]'"):
        query("select 1", [write(tmp_path / "records.jsonl", record(0))])
    assert columns().rows[0] == ("run_id", "VARCHAR", "run_id"), "the columns are known without it"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("selec 1", 'Parser Error: syntax error at or near "selec"'),
        ("select nothing from runs", 'Binder Error: Referenced column "nothing" not found in FROM clause'),
        ("select * from nowhere", "Catalog Error: Table with name nowhere does not exist"),
        ("select * from tmp_path", "does not exist"),  # a name of Python's is no table
        ("select error('one\ntwo')", "one"),
        ("select arm::int from runs", "Conversion Error"),
        ("select ?", "parameters"),
    ],
)
def test_a_wrong_statement_is_one_sentence(tmp_path: Path, sql: str, told: str) -> None:
    write(tmp_path / "records.jsonl", record(0))
    with pytest.raises(InputError) as caught:
        query(sql, [tmp_path])
    message = str(caught.value)
    assert message.startswith("The query cannot be run (")
    assert told in message
    assert "\n" not in message
    assert message.endswith("): call `bes query` without one to see the columns of runs.")


@pytest.mark.parametrize("sql", ["", "  ;", "-- only a comment"])
def test_an_empty_query(tmp_path: Path, sql: str) -> None:
    write(tmp_path / "records.jsonl", record(0))
    with pytest.raises(InputError, match="The query is empty: write one such as"):
        query(sql, [tmp_path])


OUTSIDE = [
    "copy runs to 'FOLDER/out.csv'",
    "copy (select 1) to 'FOLDER/out.parquet' (format parquet)",
    "copy runs from 'FOLDER/secret.csv'",
    "copy runs to '/dev/stdout'",
    "export database 'FOLDER/out'",
    "import database 'FOLDER'",
    "attach 'FOLDER/out.db' as other",
    "select * from read_csv('FOLDER/secret.csv')",
    "select * from read_text('FOLDER/secret.csv')",
    "select * from read_blob('FOLDER/*')",
    "select * from read_json('FOLDER/records.jsonl')",
    "select * from sniff_csv('FOLDER/secret.csv')",
    "select * from glob('FOLDER/*')",
    "select * from 'FOLDER/secret.csv'",
    "select * from query('from read_csv(''FOLDER/secret.csv'')')",
    "install httpfs",
    "load httpfs",
    "load 'FOLDER/out.duckdb_extension'",
    "select * from read_csv('https://localhost/secret.csv')",
    "create persistent secret s (type http, bearer_token 'x')",
    "set enable_external_access = true",
    "reset enable_external_access",
    "set lock_configuration = false",
    "set temp_directory = 'FOLDER/out'",
    "set python_enable_replacements = true",
    "pragma profiling_output = 'FOLDER/out.json'",
    "call enable_logging(storage = 'file', storage_path = 'FOLDER/out')",
    "select 1; copy runs to 'FOLDER/out.csv'",
]


@pytest.mark.parametrize("sql", OUTSIDE)
def test_nothing_outside_is_read_or_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "records.jsonl", record(0))
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"^The query cannot be run \((Permission|Invalid Input|Catalog|Binder) Error"):
        query(sql.replace("FOLDER", str(tmp_path)), [tmp_path])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert not list(home.iterdir())


def test_a_query_changes_its_own_copy_alone(tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", record(0))
    before = file.read_bytes()
    assert ask("delete from runs", tmp_path) == [(1,)]
    assert ask("select count(*) from runs", tmp_path) == [(1,)]
    assert file.read_bytes() == before


def test_a_connection_serves_many_queries(tmp_path: Path) -> None:
    write(tmp_path / "records.jsonl", record(0), record(0, arm="control", acc=0.25))
    with connect([tmp_path]) as database:
        tables = database.execute("select table_name from duckdb_tables() order by all").fetchall()
        assert tables == [("records",), ("runs",)]
        paired = "select b.test_acc - c.test_acc from runs b join runs c using (seed) where (b.arm, c.arm) = "
        assert database.execute(paired + "('bes', 'control')").fetchall() == [(0.25,)]


def test_the_columns_are_the_documented_ones() -> None:
    found = columns()
    assert isinstance(found, Result)
    assert ("test_hits50", "DOUBLE", "metrics.test.hits@50") in found.rows
    assert len(found.rows) == len(COLUMNS) == 44


scores = st.one_of(st.none(), st.floats(0, 1, allow_nan=False))


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(["control", "bes", "mlp"]), scores), min_size=1, max_size=20))
def test_averages_are_the_naive_ones(tmp_path_factory: pytest.TempPathFactory, given: list[tuple[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("store")
    write(folder / "records.jsonl", *(record(seed, arm, acc) for seed, (arm, acc) in enumerate(given)))
    naive = {}
    for arm in {arm for arm, _ in given}:
        values = [acc for one, acc in given if one == arm and acc is not None]
        naive[arm] = (pytest.approx(sum(values) / len(values)) if values else None, len(values))
    rows = ask("select arm, avg(test_acc), count(test_acc) from runs group by arm", folder)
    assert {arm: (mean, count) for arm, mean, count in rows} == naive


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(["run_id", "seed", "metrics", "seconds", "config", "versions"]) | st.text(max_size=4)


@settings(max_examples=60)
@given(st.lists(st.dictionaries(keys, anything, max_size=5), min_size=1, max_size=6))
def test_any_object_is_a_record(tmp_path_factory: pytest.TempPathFactory, given: list[Record]) -> None:
    folder = tmp_path_factory.mktemp("store")
    write(folder / "records.jsonl", *given)
    assert ask("select line from records", folder) == [(number,) for number in range(1, len(given) + 1)]
    assert 1 <= len(ask("select * from runs", folder)) <= len(given)
