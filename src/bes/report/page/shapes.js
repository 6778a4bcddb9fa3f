"use strict";

/* Symbols of the map around the origin, as SVG paths: one form for the canvas and for the legend. */
const SYMBOLS = [
  "M1,0A1,1 0 1 1 -1,0A1,1 0 1 1 1,0Z",
  "M-.88,-.88H.88V.88H-.88Z",
  "M0,-1.25L1.25,0L0,1.25L-1.25,0Z",
  "M0,-1.15L1.15,.85H-1.15Z",
  "M0,1.15L1.15,-.85H-1.15Z",
  "M-.4,-1.15H.4V-.4H1.15V.4H.4V1.15H-.4V.4H-1.15V-.4H-.4Z",
  "M-1.1,-.55L-.55,-1.1L0,-.55L.55,-1.1L1.1,-.55L.55,0L1.1,.55L.55,1.1L0,.55L-.55,1.1L-1.1,.55L-.55,0Z",
  "M0,-1.3L.38,-.52L1.24,-.4L.62,.2L.76,1.05L0,.65L-.76,1.05L-.62,.2L-1.24,-.4L-.38,-.52Z",
];

const UNKNOWN = { name: "unknown", color: "soft", symbol: 0 };

/* What shaping did to a prediction, in the order of the page's `outcomes`. */
const OUTCOMES = [
  { color: "#56B4E9", symbol: 0 },
  { color: "#009E73", symbol: 3 },
  { color: "#D55E00", symbol: 4 },
  { color: "#CC79A7", symbol: 6 },
];

/* Text kept apart from the words around it: a name may be written in the other direction. */
function isolated(text) {
  const element = document.createElement("bdi");
  element.textContent = text;
  return element;
}

/* A class that has a number only says that it is a class. */
function called(name) {
  return /^\d+$/.test(name) ? `class ${name}` : name;
}

/* Numbers from base64: the bytes are little-endian, as those of every browser are. */
function numbers(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Kind(bytes.buffer);
}

/* One seed of the map's data with its arrays unpacked. */
function unpack(seed) {
  const n = seed.drawn;
  const stages = seed.stages.map((text) => {
    const steps = numbers(text, Uint16Array);
    return Float32Array.from(steps, (v, i) => seed.low[i % 2] + v * seed.step[i % 2]);
  });
  const arms = {};
  for (const [arm, said] of Object.entries(seed.arms || {})) {
    arms[arm] = { guess: numbers(said.guess, Int16Array), sure: numbers(said.sure, Uint8Array) };
  }
  return {
    seed: seed.seed,
    n,
    stages,
    arms,
    at: numbers(seed.at, Uint32Array),
    label: numbers(seed.label, Int16Array),
    part: seed.part ? numbers(seed.part, Uint8Array) : null,
    outcome: seed.outcome ? numbers(seed.outcome, Int8Array) : null,
    rings: seed.rings.map((text) => numbers(text, Uint32Array)),
  };
}

/* The theme's colours as the canvas needs them. */
function palette(element) {
  const style = getComputedStyle(element);
  const of = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    element.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  return { ink: style.color, soft: of("soft"), paper: of("paper"), accent: of("accent") };
}

/* A name of the palette, or a colour; black is the ink, which is light where the page is dark. */
function paint(color, theme) {
  return color === "#000000" ? theme.ink : theme[color] || color;
}

/* A symbol drawn once, to be copied at every point. */
function sprite(style, radius, ratio, theme) {
  const size = Math.ceil((radius * 2.7 + 2) * ratio);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const ctx = canvas.getContext("2d");
  ctx.translate(size / 2, size / 2);
  ctx.scale(radius * ratio, radius * ratio);
  const path = new Path2D(SYMBOLS[style.symbol]);
  ctx.globalAlpha = style.color === "soft" ? 0.45 : 0.88;
  ctx.fillStyle = paint(style.color, theme);
  ctx.fill(path);
  ctx.globalAlpha = 0.55;
  ctx.lineWidth = 0.5 / radius;
  ctx.strokeStyle = style.color === "#F0E442" ? theme.ink : theme.paper;
  ctx.stroke(path);
  return canvas;
}

/* The same symbol for the legend. */
function swatch(style, theme) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "-1.5 -1.5 3 3");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", style.symbol < 0 ? SYMBOLS[0] : SYMBOLS[style.symbol]);
  path.setAttribute("fill", style.symbol < 0 ? "none" : paint(style.color, theme));
  path.setAttribute("stroke", style.symbol < 0 || style.color === "#F0E442" ? theme.ink : "none");
  path.setAttribute("stroke-width", style.symbol < 0 ? ".3" : ".15");
  svg.append(path);
  return svg;
}
