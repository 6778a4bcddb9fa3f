"""Settings of methods: every file is read whole, layers lie in their order, what is wrong is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from bes.errors import InputError
from bes.graph.datasets import CATALOG
from bes.models.baselines import METHODS, make_method, settings
from bes.models.baselines.settings import search_space, settings_of, sources_of


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_settings_and_something_to_tune(name: str) -> None:
    assert sources_of(name)
    for pairs in (False, True):
        space = search_space(name, pairs=pairs)
        assert space
        assert all(len(values) == len(set(map(str, values))) for values in space.values())
        assert not (pairs and "features" in space and "link_search" not in settings._file(name))
    for source in sources_of(name):
        for dataset in (*CATALOG, "a graph of one's own"):
            for pairs in (False, True):
                make_method(name, settings_of(name, dataset, source=source, pairs=pairs))


def test_the_papers_rivals_have_the_papers_settings() -> None:
    rivals = list(METHODS)[: list(METHODS).index("shaped")]
    assert len(rivals) == 21
    assert all("paper" in sources_of(name) for name in rivals)


def test_every_file_belongs_to_a_method() -> None:
    folder = settings._folder()
    assert {path.stem for path in folder.glob("*.yaml")} == set(METHODS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "_folder", lambda: tmp_path)
    settings._file.cache_clear()
    yield tmp_path
    settings._file.cache_clear()


def test_layers(folder: Path) -> None:
    (folder / "gcn.yaml").write_text(
        """
paper:
  "*": {lr: 0.1, hidden: 4}
  cora: {hidden: 8}
official:
  "*": {lr: 0.2}
link:
  "*": {epochs: 7, lr: 0.3}
  cora: {lr: 0.4}
search:
  lr: [0.1, 0.2]
  features: [raw, row]
link_search:
  lr: [0.5]
"""
    )
    assert sources_of("gcn") == ["paper", "official"]
    assert settings_of("gcn", "citeseer") == {"lr": 0.1, "hidden": 4}
    assert settings_of("gcn", "cora") == {"lr": 0.1, "hidden": 8}
    assert settings_of("gcn", "cora", source="official") == {"lr": 0.2}
    assert settings_of("gcn", "cora", pairs=True) == {"lr": 0.4, "hidden": 8, "epochs": 7}
    assert settings_of("gcn", "other", pairs=True) == {"lr": 0.3, "hidden": 4, "epochs": 7}
    assert search_space("gcn") == {"lr": [0.1, 0.2], "features": ["raw", "row"]}
    assert search_space("gcn", pairs=True) == {"lr": [0.5]}
    with pytest.raises(InputError, match=r"'gcn' has no settings 'ours': use paper or official\.$"):
        settings_of("gcn", "cora", source="ours")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('paper: {"*": {hiden: 4}}', "has no option 'hiden'"),
        ('paper: {"*": {hidden: none}}', r"gcn\.hidden='none' is not valid"),
        ('papper: {"*": {hidden: 4}}', "'papper' is not known.*paper"),
        ("search: {hidden: [4, -1]}", r"gcn\.hidden=-1 is not valid"),
    ],
)
def test_a_file_that_is_wrong_is_refused_at_once(text: str, said: str, folder: Path) -> None:
    (folder / "gcn.yaml").write_text(text)
    with pytest.raises(InputError, match=said):
        settings_of("gcn", "cora")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"widht": 3}, r"The method 'gcn' has no option 'widht': it has epochs, lr, .*hidden, dropout\.$"),
        ({"dropout": 1.0}, r"The option gcn\.dropout=1\.0 is not valid: "),
        ({"epochs": 0}, r"The option gcn\.epochs=0 is not valid: "),
        ({"lr": float("nan")}, r"The option gcn\.lr=nan is not valid: "),
        ({"conv": "gat"}, "has no option 'conv'"),
        ({"features": "rows"}, r"gcn\.features='rows' is not valid"),
    ],
)
def test_options_that_are_wrong_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_method("gcn", options)


def test_a_method_that_is_not_known_suggests_one() -> None:
    with pytest.raises(InputError, match=r"The method 'h2gnc' is not known: did you mean .*h2gcn"):
        make_method("h2gnc")
