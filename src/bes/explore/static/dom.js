// Elements made from text: what comes from a run is never read as HTML.

export const find = (id) => document.getElementById(id);

/** `make("button", { class: "link", onclick }, "text", child)`. */
export function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "color") element.style.setProperty("--color", value);
    else if (name === "width") element.style.width = value;
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const grouped = (number) => number.toLocaleString("en-US");

export const plural = (number, one, many = `${one}s`) => `${grouped(number)} ${number === 1 ? one : many}`;

/** How long movements take; nothing moves for those who asked for that. */
export const pace = (milliseconds) =>
  window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : milliseconds;

/** Hide an element; the keyboard, where it was in there, goes on from the map. */
export function conceal(id) {
  const element = find(id);
  const held = element.contains(document.activeElement);
  element.hidden = true;
  if (held) find("map").focus();
}

export function problem(text) {
  find("problem").textContent = text;
  find("problem").hidden = false;
}
