"""The report of a run: one HTML file that opens without a network."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from bes.files import whole_file
from bes.records import writing
from bes.report.content import content, methods_content
from bes.stored import StoredRun

#: The parts of the page's script, in order.
SCRIPTS = ("shapes.js", "map.js", "view.js", "find.js", "report.js")


def write_report(run: StoredRun) -> Path:
    """Write `report.html` into a run's folder and return its path."""
    path = run.path / "report.html"
    write_run(path, run)
    return path


def write_run(path: Path, run: StoredRun) -> None:
    """The page of one run: of control and bes, or of methods alone."""
    if run.config.paired:
        write_page(path, "template.html", run=content(run))
    else:
        write_page(path, "methods.html", run=methods_content(run), prefix="")


def section(run: StoredRun, prefix: str, *, with_map: bool = True) -> str:
    """The same as a part of a larger page, where ids begin with `prefix`, with one seed to look at."""
    if run.config.paired:
        return render("section.html", run=content(run, seeds=1, with_map=with_map), prefix=prefix)
    return render("methods.html", run=methods_content(run), prefix=prefix)


def write_page(path: Path, template: str, **values: Any) -> None:
    """A page at `path`, whole or not at all."""
    page = render(template, **values, **_inlined())
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path.parent), whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def render(template: str, **values: Any) -> str:
    """A template of the package, filled in; all text is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["called"] = lambda name: f"class {name}" if name.isdigit() else name
    return environment.get_template(template).render(**values)


def _inlined() -> dict[str, str]:
    """Style and script, and the policy under which the page runs no other script and loads nothing."""
    script = "\n".join(_file(name) for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return {"style": _file("report.css"), "script": script, "policy": policy}


def _file(name: str) -> str:
    return resources.files("bes.report").joinpath("page", name).read_text(encoding="utf-8")
