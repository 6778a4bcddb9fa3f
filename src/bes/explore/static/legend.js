// What the colours mean, and which of them are shown. Filters stay when one colours by something else.

import { grouped, make } from "./dom.js";
import { rampColor } from "./colors.js";

export class Filter {
  constructor(modes, count) {
    Object.assign(this, { modes, count });
    this.hidden = new Map();
  }

  of(name) {
    if (!this.hidden.has(name)) this.hidden.set(name, new Set());
    return this.hidden.get(name);
  }

  toggle(name, key) {
    const set = this.of(name);
    if (!set.delete(key)) set.add(key);
  }

  clear() {
    this.hidden.clear();
  }

  /** A byte a node: 1 where no filter hides it. */
  mask(stage) {
    const mask = new Uint8Array(this.count).fill(1);
    for (const [name, set] of this.hidden) {
      if (!set.size) continue;
      const keys = this.modes[name].keys(stage);
      for (let i = 0; i < mask.length; i += 1) if (set.has(keys[i])) mask[i] = 0;
    }
    return mask;
  }
}

/** Fill `element` for a mode; `toggle(key)` is called when an entry is switched. */
export function legend(element, mode, stage, theme, hidden, toggle) {
  if (mode.value) {
    element.replaceChildren(scale(theme));
    return;
  }
  const held = element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const counts = new Map();
  for (const key of mode.keys(stage)) counts.set(key, (counts.get(key) ?? 0) + 1);
  const keys = [...mode.names.keys(), -1].filter((key) => counts.has(key));
  element.replaceChildren(
    ...keys.map((key) => {
      const name = key < 0 ? mode.none : mode.names[key];
      const box = make("input", {
        type: "checkbox",
        "data-key": key,
        checked: !hidden.has(key),
        onchange: () => toggle(key),
      });
      return make(
        "li",
        {},
        make(
          "label",
          { color: mode.color(key, theme) },
          box,
          make("span", { class: `swatch shape${mode.shape?.(key) ?? 0}` }),
          make("bdi", { class: "name" }, name),
          make("span", { class: "quiet count" }, grouped(counts.get(key))),
        ),
      );
    }),
  );
  if (held !== null) element.querySelector(`[data-key="${held}"]`)?.focus();
}

function scale(theme) {
  const bar = make("div", { class: "ramp" });
  const stops = Array.from({ length: 13 }, (_, i) => rampColor(i / 12, theme));
  bar.style.backgroundImage = `linear-gradient(to right, ${stops.join(", ")})`;
  const ends = make("div", { class: "ends quiet" }, make("span", {}, "0, undecided"), make("span", {}, "1, certain"));
  return make("li", {}, bar, ends);
}
