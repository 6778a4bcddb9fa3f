// One node in words and bars. Ids and class names go in as text only.

import { grouped, make, plural } from "./dom.js";
import { OUTCOME_NAMES, classColor, classShape } from "./colors.js";

const BARS = 6;
const LISTED = 60;

/** Why a node has no outcome, by its part. */
const UNSCORED = {
  train: "It was used for training: not scored.",
  validation: "It was used for selection: not scored.",
  "in no part": "It is in no part of the split: not scored.",
  unlabelled: "Its class is not known.",
};

const percent = (value) => `${(100 * value).toFixed(value > 0.0995 || value < 0.0005 ? 0 : 1)} %`;
const section = (title, ...content) => make("section", {}, make("h3", {}, title), ...content);

/** Everything about a node; `go(node)` is called by its links. */
export function panel(found, { run, arrays, ids, theme }, go) {
  const node = found.node;
  const named = (c) => make("bdi", {}, c < 0 ? "no class" : run.labels[c]);
  const swatch = (c) => make("span", { class: `swatch shape${classShape(c)}`, color: classColor(c, theme) });
  const color = (other) => (run.classes.length ? arrays.class[other] : arrays.group[other]);
  const link = (other, beside) =>
    make(
      "button",
      { type: "button", class: "node", onclick: () => go(other) },
      swatch(color(other)),
      make("bdi", { class: "id" }, ids[other]),
      make("span", { class: "quiet" }, beside),
    );
  const parts = [facts(), ...(arrays.before ? [predictions(), bars()] : []), shifts(), around(), near()];
  return parts;

  function facts() {
    const rows = [];
    if (run.classes.length)
      rows.push(["Class", make("span", {}, swatch(arrays.class[node]), named(arrays.class[node]))]);
    if (arrays.group) {
      const group = arrays.group[node];
      rows.push(["Shaper was told", group < 0 ? "nothing" : make("bdi", {}, run.groups[group])]);
    }
    if (arrays.part) rows.push(["Part", run.parts[arrays.part[node]]]);
    if (arrays.before) {
      const [before, after] = [arrays.margin_before[node], arrays.margin_after[node]];
      rows.push(["Margin", `${before.toFixed(3)} before, ${after.toFixed(3)} after`]);
    }
    return make(
      "dl",
      { class: "facts" },
      ...rows.flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)]),
    );
  }

  function predictions() {
    const outcome = arrays.outcome[node];
    const verdict = outcome < 0 ? unscored() : `${OUTCOME_NAMES[outcome]}.`;
    const side = (name, c) => make("li", {}, make("span", { class: "quiet" }, name), swatch(c), named(c));
    return section(
      "Prediction",
      make("ul", { class: "sides" }, side("Before", arrays.before[node]), side("After", arrays.after[node])),
      make("p", { class: `verdict outcome${outcome}` }, verdict),
    );
  }

  function unscored() {
    const part = run.parts[arrays.part[node]];
    const spared = part === "validation" && run.selection === "test-peek";
    return spared ? "It is a validation node: not scored." : UNSCORED[part];
  }

  function bars() {
    const { before, after } = found.prob;
    const most = before.map((value, c) => Math.max(value, after[c]) + (c === arrays.class[node] ? 1 : 0));
    const order = [...before.keys()].sort((a, b) => most[b] - most[a]).slice(0, BARS);
    order.sort((a, b) => after[b] - after[a]);
    const rows = order.map((c) =>
      make(
        "li",
        { color: classColor(c, theme) },
        make("span", { class: "name" }, named(c)),
        bar("before", before[c]),
        bar("after", after[c]),
      ),
    );
    const rest = before.length - order.length;
    const note =
      rest > 0
        ? make("p", { class: "quiet" }, `${plural(rest, "less likely class", "less likely classes")} left out.`)
        : null;
    return section("Probabilities", make("ul", { class: "bars" }, ...rows), ...(note ? [note] : []));
  }

  function bar(side, value) {
    return make(
      "span",
      { class: `bar ${side}` },
      make("span", { class: "fill", width: `${Math.max(100 * value, 0.5)}%` }),
      make("span", { class: "value" }, make("span", { class: "quiet" }, `${side} `), percent(value)),
    );
  }

  function shifts() {
    const rows = found.shift.map((score, layer) => {
      const text = score === null ? "not scored" : score.toFixed(2);
      const at = found.boundary[layer] ? make("strong", { class: "badge" }, "boundary") : null;
      return make("li", {}, make("span", { class: "quiet" }, `Layer ${layer + 1}`), make("span", {}, text), at);
    });
    const none = found.shift.every((score) => score === null);
    const note = none
      ? [make("p", { class: "quiet" }, "Only labelled training nodes near a class border are scored.")]
      : [];
    return section("Shift score", make("ul", { class: "sides" }, ...rows), ...note);
  }

  function around() {
    const list = found.neighbors.slice(0, LISTED);
    const rest = found.degree - list.length;
    const more = rest > 0 ? [make("p", { class: "quiet" }, `And ${grouped(rest)} more.`)] : [];
    const title = `${plural(found.degree, "neighbour")} in the graph`;
    return section(
      title,
      make("ul", { class: "nodes" }, ...list.map((other) => make("li", {}, link(other, beside(other))))),
      ...more,
    );
  }

  function beside(other) {
    return run.classes.length ? named(arrays.class[other]) : "";
  }

  function near() {
    const { before, after } = found.nearest;
    const column = (name, side, others) => {
      const known = new Set(others.nodes);
      const rows = side.nodes.map((other, i) =>
        make("li", { class: known.has(other) ? "" : "only" }, link(other, side.distances[i].toPrecision(3))),
      );
      return make("div", {}, make("h4", {}, name), make("ol", { class: "nodes" }, ...rows));
    };
    const kept = before.nodes.filter((other) => after.nodes.includes(other)).length;
    const note = `${kept} of ${before.nodes.length} are the same; the others are marked.`;
    return section(
      "Nearest in embedding space",
      make("div", { class: "columns" }, column("Before", before, after), column("After", after, before)),
      make("p", { class: "quiet" }, note),
    );
  }
}
