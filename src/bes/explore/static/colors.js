// Colours that colour-blind readers tell apart, on light and on dark paper, and shapes where they do not suffice;
// and what nodes can be coloured by.

const CLASSES = {
  light: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b5a600", "#555555"],
  dark: ["#3f9fe0", "#f2b33d", "#2cc29a", "#e29cc6", "#8fd0f5", "#f17f3b", "#f0e442", "#c9ced6"],
};
const QUIET = { light: "#b9bec7", dark: "#4d5562" };
const OUTCOMES = {
  light: ["#7ba3cb", "#009e73", "#d55e00", "#8a5fa8", "#cfd3d9"],
  dark: ["#456f9c", "#2cc29a", "#f17f3b", "#c79be6", "#363c46"],
};
/** How many shapes the shader knows. */
const SHAPES = 6;
const RAMP = ["#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838"];

export const OUTCOME_NAMES = ["Right both times", "Fixed by shaping", "Broken by shaping", "Wrong both times"];

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const hex = (color) => `#${color.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
const blend = (a, b, part) => a.map((value, i) => value + (b[i] - value) * part);

/** The colour of a class; after eight they come again, in another shape. */
export const classColor = (c, theme) => (c < 0 ? QUIET[theme] : CLASSES[theme][c % 8]);

/** The shape of a class: a number as the shader has them. */
export const classShape = (c) => (c < 0 ? 0 : Math.floor(c / 8) % SHAPES);

/** A scale from 0 to 1 whose low end stands out: dark on light paper, bright on dark. */
export function rampColor(value, theme) {
  const part = Math.min(Math.max(theme === "dark" ? 1 - value : value, 0), 1) * (RAMP.length - 1);
  const low = Math.min(Math.floor(part), RAMP.length - 2);
  return hex(blend(rgb(RAMP[low]), rgb(RAMP[low + 1]), part - low));
}

/**
 * The ways to colour a run: name, the number of each node (`keys`, by stage), names and colours of the numbers;
 * or a `value` between 0 and 1 of each node. Numbers of a higher `level` (0 to 2) are drawn on top.
 */
export function modes(run, arrays) {
  const classes = { names: run.labels, none: "No class", color: classColor, shape: classShape };
  const found = {};
  const add = (key, mode) => {
    found[key] = mode;
  };
  if (run.classes.length) add("class", { name: "Class", keys: () => arrays.class, ...classes });
  if (arrays.group) {
    add("group", {
      name: "What the shaper was told",
      keys: () => arrays.group,
      ...classes,
      names: run.groups,
      none: "Nothing",
    });
  }
  if (arrays.before) {
    const of = (stage) => (stage < 1 ? "before" : "after");
    add("prediction", { name: "Prediction", keys: (stage) => arrays[of(stage)], ...classes, by: of });
    add("error", {
      name: "Right or wrong in test",
      keys: () => arrays.outcome,
      names: OUTCOME_NAMES,
      none: "Not in test",
      color: (c, theme) => OUTCOMES[theme][c < 0 ? 4 : c],
      level: (c) => (c < 0 ? 0 : c === 1 || c === 2 ? 2 : 1),
    });
    add("margin", { name: "Margin of the prediction", value: (stage) => arrays[`margin_${of(stage)}`], by: of });
  }
  if (arrays.part) {
    add("part", { name: "Part of the split", keys: () => arrays.part, ...classes, names: run.parts });
  }
  return found;
}

/** RGBA of every node; those not in `lit` (a mask, or null for all) fade. */
export function paint(mode, stage, theme, opacity, lit) {
  const keys = mode.value ? mode.value(stage) : mode.keys(stage);
  const count = mode.value ? 256 : mode.names.length + 1;
  const table = Array.from({ length: count }, (_, i) =>
    rgb(mode.value ? rampColor(i / 255, theme) : mode.color(i - 1, theme)),
  );
  const bytes = new Uint8Array(4 * keys.length);
  for (let i = 0; i < keys.length; i += 1) {
    const color = table[mode.value ? Math.min(Math.max(Math.round(keys[i] * 255), 0), 255) : keys[i] + 1];
    bytes[4 * i] = color[0];
    bytes[4 * i + 1] = color[1];
    bytes[4 * i + 2] = color[2];
    bytes[4 * i + 3] = 255 * opacity * (lit && !lit[i] ? 0.12 : 1);
  }
  return bytes;
}

/** The shape of every node, a byte each. */
export function forms(mode, stage, count) {
  return mode.shape && mode.names.length > 8 ? Uint8Array.from(mode.keys(stage), mode.shape) : new Uint8Array(count);
}
