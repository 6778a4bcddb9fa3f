"""Methods of a run side by side: which is best on validation, how far the others are from it, and what was tuned."""

from __future__ import annotations

import json
from typing import Any

from scipy.special import stdtr

from bes.errors import InputError
from bes.models.baselines import METHODS
from bes.models.baselines.settings import settings_of, sources_of
from bes.pipeline.methods import resolved
from bes.report import training
from bes.report.tables import METRICS, SHORT, metric_name
from bes.stored import StoredRun
from bes.summary import ENOUGH, TIE, Record, Summary, headline, values

#: Parts by their key in the rows, with their title.
PARTS = {"val": "validation", "test": "test", "test_hard": "hard"}
TITLES = {"validation": "On validation", "test": "On the test part", "hard": "Against hard negatives"}

#: How a difference of another method to the best reads from the best one's side.
SEEN = {
    "clearly worse": "clearly ahead of",
    "clearly better": "clearly behind",
    "no clear difference": "not clearly different from",
    "one split tells nothing": "compared on one split alone with",
    "nothing to compare": "not comparable with",
}

#: Names that a sentence lists, at most.
LISTED = 3


def complete(records: list[Record]) -> list[Record]:
    """The records of the seeds that have every method, so that all means are of the same splits; all where none has."""
    lacking = missing(records)
    return [record for record in records if record["seed"] not in lacking] or records


def missing(records: list[Record]) -> dict[int, list[str]]:
    """Seeds that lack methods, with the names of those."""
    done = {(record["seed"], record["arm"]) for record in records}
    names = dict.fromkeys(record["arm"] for record in records)
    seeds = dict.fromkeys(record["seed"] for record in records)
    found = {seed: [name for name in names if (seed, name) not in done] for seed in seeds}
    return {seed: names for seed, names in found.items() if names}


def ranked(records: list[Record]) -> list[str]:
    """The methods by their mean headline metric on validation, best first; test plays no part.

    On a tie the one that was named first comes first; methods without a value come last.
    """
    names = list(dict.fromkeys(record["arm"] for record in records))
    means = {name: mean(records, name, headline(records)[0], "val").mean for name in names}
    return sorted(names, key=lambda name: (means[name] is None, -round(means[name] or 0.0, 12)))


def mean(records: list[Record], name: str, metric: str, part: str) -> Summary:
    """A method's mean and standard error."""
    return Summary.of(list(values(records, name, metric, part).values()))


def difference(records: list[Record], name: str, best: str, part: str = "test") -> Summary:
    """The headline metric of `name` minus that of `best`, paired by seed."""
    metric = headline(records)[0]
    own, other = values(records, name, metric, part), values(records, best, metric, part)
    return Summary.of([own[seed] - other[seed] for seed in sorted(own.keys() & other.keys())])


def reading(found: Summary) -> str:
    """What a difference allows one to say: two standard errors over enough splits make it clear."""
    if found.mean is None:
        return "nothing to compare"
    if found.error is None:
        return "one split tells nothing"
    if abs(found.mean) <= 2 * found.error:
        return "no clear difference"
    if found.n < ENOUGH:
        return "too few splits"
    return "clearly better" if found.mean > 0 else "clearly worse"


def verdict(records: list[Record]) -> str:
    """One sentence on the method that is best on validation, and on what the test part says of the others."""
    records = complete(records)
    metric, title = headline(records)
    best, *others = ranked(records)
    chosen, tested = (mean(records, best, metric, part) for part in ("val", "test"))
    if chosen.mean is None:
        return "No method has a figure on validation: none can be called the best."
    if tested.mean is None:
        return f"{best} is best on validation: the test part has nothing to score, and nothing more can be said."
    figure = f"test {title} {tested.text()} over {tested.n} split{'s' if tested.n > 1 else ''}"
    if not others:
        return f"{best} has {figure}: there is no other method to compare it with."
    even = [other for other in others if abs(difference(records, other, best, "val").mean or 0.0) < TIE]
    tie = f" (a tie with {listed(even)} goes to the one named first)" if even else ""
    opening = f"{best} is best on validation{tie}, with {figure}"
    read = {other: reading(difference(records, other, best)) for other in others}
    if tested.error is None:
        return f"{opening}: one split tells nothing about its noise."
    if "too few splits" in read.values():
        return f"{opening} (standard error): {tested.n} splits are too few to call a difference to the others clear."
    groups = {text: [other for other in others if read[other] == kind] for kind, text in SEEN.items()}
    said = ", ".join(f"{text} {listed(group)}" for text, group in groups.items() if group)
    return f"{opening} (standard error): on the test part it is {said}."


def rows(records: list[Record]) -> list[dict[str, Any]]:
    """A row a method, best on validation first: every metric of every part, and its difference to the best one."""
    records = complete(records)
    order = ranked(records)
    known = mean(records, order[0], headline(records)[0], "val").mean is not None
    found = []
    for name in order:
        row: dict[str, Any] = {"method": name, "best": known and name == order[0]}
        row |= {title: _texts(records, name, part) for part, title in PARTS.items() if part in records[0]["metrics"]}
        apart = {part: difference(records, name, order[0], part) for part in ("val", "test")}
        told: dict[str, Any] = {PARTS[part]: one.text(signed=True) for part, one in apart.items()}
        told |= {"splits": apart["test"].n, "reading": reading(apart["test"])}
        found.append({**row, "difference": None if row["best"] or not known else told})
    return found


def short(records: list[Record]) -> list[dict[str, str]]:
    """The rows for a terminal."""
    first = headline(records)[0]
    title = metric_name(records, first)
    wide = ("acc", "f1") if records[0]["task"] == "link" else ()  # of so many, those that hang on a threshold
    kept = [metric_name(records, metric) for metric in (*SHORT, first) if metric not in wide]
    return [
        {
            "method": f"{row['method']} *" if row["best"] else row["method"],
            f"validation {title}": row["validation"][title],
            **{f"test {name}": text for name, text in row["test"].items() if name in kept},
            f"test {title} - best": row["difference"]["test"] if row["difference"] else "",
        }
        for row in rows(records)
    ]


def by_chance(records: list[Record]) -> float | None:
    """How many differences chance alone would put beyond two standard errors; None where there are not several."""
    best, *others = ranked(records)
    found = [difference(records, name, best).n for name in others]
    likely = [2 * float(stdtr(n - 1, -2.0)) for n in found if n >= ENOUGH]
    return sum(likely) if len(likely) > 1 else None


def about(run: StoredRun, name: str) -> dict[str, Any]:
    """A method's options and where each is from, and what tuning tried."""
    told: dict[str, Any] = next((r["method"] for r in run.records if r["arm"] == name and "method" in r), {})
    used, start, tuned = told.get("options", {}), run.config.methods.get(name, {}), told.get("tuned", {})
    source, own, usual = _usual(run, name)

    def origin(key: str) -> str:
        if used[key] != start.get(key):
            return "tuned"
        if key not in usual:
            return ""
        return "given" if used[key] != usual[key] else own.get(key, "default")

    return {
        "name": name,
        "source": source,
        "options": [{"name": key, "value": shown(value), "from": origin(key)} for key, value in used.items()],
        "tried": trials(tuned.get("tried", []), start, used),
        "tuned_on": tuned.get("seed"),
    }


def trials(tried: list[dict[str, Any]], start: dict[str, Any], used: dict[str, Any]) -> list[dict[str, Any]]:
    """What tuning tried, a row a trial; the first that has the options in use was the best."""
    every = [{**start, **one["options"]} for one in tried]
    return [
        {
            "options": ", ".join(f"{key} {shown(value)}" for key, value in one["options"].items()),
            "score": None if one.get("error") else one["score"],
            "seconds": one["seconds"],
            "error": one.get("error", ""),
            "again": every[place] in every[:place],
            "best": every[place] == used and used not in every[:place],
        }
        for place, one in enumerate(tried)
    ]


def times(records: list[Record]) -> dict[str, Any]:
    """Mean seconds of training and evaluation, those of all trials, and peak memory, best method first."""
    found, order = training.times(records), ranked(complete(records))
    for one in found["arms"]:
        own = [record for record in records if record["arm"] == one["arm"]]
        tried = own[0].get("method", {}).get("tuned", {}).get("tried", [])
        one["tuning"] = sum(trial["seconds"] for trial in tried)
        one["peak"] = max((record["peak_mib"] for record in own if record["peak_mib"]), default=None)
    found["arms"].sort(key=lambda one: order.index(one["arm"]))
    return found


def notes(records: list[Record]) -> list[str]:
    """What there is to remark: seeds that lack a method, then what the methods said, each once."""
    said: dict[tuple[str, str], list[int]] = {}
    for record in records:
        for note in record["notes"]:
            said.setdefault((record["arm"], note), []).append(record["seed"])
    return [
        f"Seed {seed} lacks {listed(names)} and is left out of the means: call `bes run` again to go on."
        for seed, names in missing(records).items()
    ] + [f"{arm}, seed{'s' if len(s) > 1 else ''} {', '.join(map(str, s))}: {note}" for (arm, note), s in said.items()]


def shown(value: Any) -> str:
    """An option's value as text."""
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)


def listed(names: list[str]) -> str:
    """`a, b and c`, or how many they are."""
    if len(names) > LISTED:
        return f"{len(names)} methods"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _texts(records: list[Record], name: str, part: str) -> dict[str, str]:
    """Metrics of a part by their names, the headline metric first."""
    found = records[0]["metrics"][part]
    order = sorted((m for m in METRICS if m in found), key=lambda metric: metric != headline(records)[0])
    return {metric_name(records, metric): mean(records, name, metric, part).text() for metric in order}


def _usual(run: StoredRun, name: str) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Whose settings a method has, where each option in them is from, and all options that come of them."""
    if name not in METHODS:
        return "", {}, {}
    config = run.config
    try:
        source = config.settings or sources_of(name)[0]
        nodes = settings_of(name, config.dataset, source=source)
        here = settings_of(name, config.dataset, source=source, pairs=config.task != "node")
        usual = resolved(config.model_copy(update={"methods": {name: {}}})).methods[name]
    except InputError:  # left by another version
        return config.settings or "", {}, {}
    own = {key: source if (key, value) in nodes.items() else "for pairs" for key, value in here.items()}
    return source, own, usual
