"""The guide is true: the site builds, its code runs, its commands parse, and no option is missing or outdated."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from typer.main import get_command

import bes
from bes.cli import app
from bes.config import RunConfig
from bes.errors import InputError
from bes.models.baselines import METHODS
from bes.presets import PRESETS, defaults

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
OPTIONS = (DOCS / "options.md").read_text()
TESTED_ELSEWHERE = "links.md"  # its example: tests/test_documents.py
RUN_AS_WRITTEN = "own-graph.md"  # its commands too
CLI = get_command(app)


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and content of each fenced block, in order."""
    text = (DOCS / page).read_text()
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


WITH_CODE = [page for page in PAGES if any(language == "python" for language, _ in blocks(page))]


def commands(text: str) -> list[list[str]]:
    """The lines of a block that call `bes`, as words; a backslash continues a line."""
    lines = text.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("bes ")]


def parse(words: list[str]) -> None:
    """As the command line would, without doing anything; raises its error on what it does not know."""
    command: Any = CLI
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    assert not hasattr(command, "commands"), f"{words} names no command"
    context = command.make_context(command.name, list(words))
    if command.name == "run":
        given = {"methods": context.params["method"], "settings": context.params["source"]}
        plan = RunConfig.build("mine", given=given, settings=context.params["settings"] or [])
        for name, options in plan.methods.items():
            assert name in METHODS or name in ("bes", "control"), name
            assert not options.keys() - METHODS[name].options.keys() if options else True


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed: pip install 'bes-graph[docs]'")
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        fetched = re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?((?:https?:)?//[^\s\">]+)", page.read_text()
        )
        assert fetched == [], page.name


@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")  # PyTorch Geometric's
@pytest.mark.parametrize("page", [page for page in WITH_CODE if page != TESTED_ELSEWHERE])
def test_the_code_of_a_page_runs_from_top_to_bottom(page: str, tmp_path: Path, monkeypatch: Any, command: Any) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__page__"}
    for number, (language, text) in enumerate(blocks(page), start=1):
        if language == "python":
            exec(compile(text, f"{page}, block {number}", "exec"), names)
        elif language == "sh" and page == RUN_AS_WRITTEN:
            for words in commands(text):
                called = command(*words)
                assert called.code == 0, (words, called.err)
    left = {"runs", "new_predictions.csv"} if page == RUN_AS_WRITTEN else set()
    assert left <= set(os.listdir(tmp_path))


def test_the_pages_that_teach_have_code() -> None:
    assert {"index.md", "own-graph.md", "plug-in.md", "options.md", "links.md"} <= set(WITH_CODE)


def all_commands() -> Iterator[Any]:
    for page in PAGES:
        for language, text in blocks(page):
            yield from (
                pytest.param(words, id=f"{page}: {' '.join(words)}") for words in commands(text) if language == "sh"
            )
        outside = re.sub(r"^```.*?^```$", "", (DOCS / page).read_text(), flags=re.MULTILINE | re.DOTALL)
        for text in re.findall(
            r"`(bes (?:run|shape|data|predict|report|explore|bench|query|methods|doctor) [^`\[]+)`", outside
        ):
            yield pytest.param(shlex.split(text)[1:], id=f"{page}: {text}")


@pytest.mark.parametrize("words", list(all_commands()))
def test_every_command_of_the_guide_exists_with_its_options(words: list[str]) -> None:
    parse(words)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page: str) -> None:
    assert (DOCS / page).read_text().count("```") == 2 * len(blocks(page)), "a fence is open, or not at the margin"
    assert {language for language, _ in blocks(page)} <= {"python", "sh", "yaml"}


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(["run", "cora", "--colour", "red"])
    with pytest.raises(AssertionError, match="names no command"):
        parse(["rum", "cora"])
    with pytest.raises(InputError, match="n_layer"):
        parse(["run", "cora", "--set", "n_layer=3"])


def fields(model: type[BaseModel] = RunConfig, prefix: str = "") -> dict[str, Any]:
    """Every option by its full name."""
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        nested = isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        found |= fields(field.annotation, f"{prefix}{name}.") if nested else {prefix + name: field}
    return found


def rows() -> dict[str, tuple[str, str]]:
    """The default and the meaning that the page gives for each option; a section says what comes before its names."""
    found: dict[str, tuple[str, str]] = {}
    for section in OPTIONS.split("\n## ")[1:]:
        prefix = "".join(re.findall(r"^In full `(\w+\.)NAME`", section, re.MULTILINE))
        table = re.findall(r"^\| `(\w+)` \| ([^|]+?) \| ([^|]+?) \| [^|]*\|$", section, re.MULTILINE)
        assert not found.keys() & {prefix + name for name, *_ in table}, "an option has two rows"
        found |= {prefix + name: (default, meaning) for name, default, meaning in table}
    return found


def words_of(kind: Any) -> list[str]:
    """The words that an annotation allows."""
    return [word for part in get_args(kind) for word in ([part] if isinstance(part, str) else words_of(part))]


def test_the_page_of_options_has_each_option_and_no_other() -> None:
    assert rows().keys() == fields().keys()


@pytest.mark.parametrize("name", fields())
def test_an_option_is_described_as_it_is(name: str) -> None:
    field, (default, meaning) = fields()[name], rows()[name]
    special = {"dataset": "given", "rivals": "none", "encoders.names": "the paper's", "decoder.kind": "the paper's"}
    special |= {"methods": "none", "settings": "the first there is"}
    assert default == special.get(name, f"`{field.default}`")
    for word in words_of(field.annotation):
        assert f"`{word}`" in meaning, word


def leaves(settings: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"`{prefix}{key}={','.join(value) if isinstance(value, tuple) else value}`"


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_described_as_it_is(preset: str) -> None:
    (row,) = re.findall(rf"^\| `{preset}` \|.*$", OPTIONS, re.MULTILINE)
    assert set(re.findall(r"`[\w.]+=[^`]+`", row)) == set(leaves(PRESETS[preset]))


def test_the_defaults_of_links_are_described_as_they_are() -> None:
    section = OPTIONS.partition("### What links and edges change")[2].partition("\n## ")[0]
    told = set(re.findall(r"`[\w.]+=[^`]+`", section.replace("\n", " ")))
    usual = defaults("link", "mine", None) | {"split": "random"}
    plain = {f"`{name}={field.default}`" for name, field in fields().items()}
    changed = {leaf.replace("=1e-04", "=0.0001") for leaf in leaves(usual)} - plain
    assert told == changed


def test_every_option_of_the_run_command_is_on_the_page() -> None:
    for parameter in CLI.commands["run"].params:
        long = [option for option in parameter.opts if option.startswith("--")]
        for option in long if parameter.param_type_name == "option" and long != ["--help"] else []:
            assert f"`{option}`" in OPTIONS, option


def public(module: Any) -> list[str]:
    own = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if isinstance(value, type) and value.__module__ == module.__name__
    ]
    return [f"{module.__name__}.{name}" for name in own if not name.startswith("_")]


def test_the_reference_has_every_public_name() -> None:
    named = set(re.findall(r"^::: ([\w.]+)$", (DOCS / "api.md").read_text(), re.MULTILINE))
    rooms = {"bes.nn", "bes.callbacks"}
    wanted = {*public(bes), *public(bes.nn), *public(bes.callbacks)} - rooms
    assert wanted <= named, sorted(wanted - named)
