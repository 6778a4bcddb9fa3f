// Find a node by its id: a box with suggestions, all of it by keys too.

import { make } from "./dom.js";

const MOST = 20;

/** Nodes whose id is `text`, then those that begin with it, then those that hold it. */
export function matches(lower, text, most = MOST) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const [same, begins, holds] = [[], [], []];
  for (let i = 0; i < lower.length; i += 1) {
    const at = lower[i].indexOf(wanted);
    if (at < 0) continue;
    if (at === 0 && lower[i].length === wanted.length) same.push(i);
    else if (at === 0) {
      if (begins.length < most) begins.push(i);
    } else if (holds.length < most) holds.push(i);
  }
  return [...same, ...begins, ...holds].slice(0, most);
}

/** `describe(node)` is what stands beside an id, `choose(node)` what happens. */
export function search(input, list, ids, describe, choose) {
  const lower = ids.map((id) => id.toLowerCase());
  let found = [];
  let active = -1;

  const mark = (index) => {
    active = index;
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === active)));
    const row = list.children[active];
    if (row && found.length) {
      input.setAttribute("aria-activedescendant", row.id);
      row.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    mark(-1);
  };
  const take = (node) => {
    input.value = ids[node];
    close();
    choose(node);
  };
  const show = () => {
    found = matches(lower, input.value);
    const rows = found.map((node, i) =>
      make(
        "li",
        {
          role: "option",
          id: `found-${i}`,
          onpointerdown: (event) => event.preventDefault(),
          onclick: () => take(node),
        },
        make("bdi", { class: "id" }, ids[node]),
        make("bdi", { class: "quiet" }, describe(node)),
      ),
    );
    const none = make("li", { class: "quiet", role: "presentation" }, "No node of that name");
    list.replaceChildren(...(rows.length ? rows : [none]));
    list.hidden = !input.value.trim();
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(found.length ? 0 : -1);
  };

  input.addEventListener("input", show);
  input.addEventListener("focus", () => input.select());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && !list.hidden && active >= 0) take(found[active]);
    else if (event.key === "ArrowDown" && list.hidden) show();
    else if (event.key === "ArrowDown" && found.length) mark((active + 1) % found.length);
    else if (event.key === "ArrowUp" && found.length) mark((active - 1 + found.length) % found.length);
    else return;
    event.preventDefault();
  });
}
