// The state of the page: what is shown, how it is coloured, which node and which nodes are chosen.

import { Camera } from "./camera.js";
import { forms, modes, paint } from "./colors.js";
import { csv, download } from "./csv.js";
import { conceal, find, grouped, make, pace, plural, problem } from "./dom.js";
import { Filter, legend } from "./legend.js";
import { get } from "./load.js";
import { panel } from "./panel.js";
import { View } from "./view.js";

const PAPER = { light: { paper: "#fbfbfc", ink: "#1d2530" }, dark: { paper: "#14181e", ink: "#e8ecf2" } };
const NONE = new Uint32Array(0);

/** Filters and panel have no room beside the map. */
export const NARROW = window.matchMedia("(width <= 760px)");

/** Numbers 0 ... count - 1 in an order that favours no class where points overlap; the same every time. */
function shuffled(count) {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  let state = 1;
  for (let i = count - 1; i > 0; i -= 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

export class Explorer {
  constructor({ run, arrays }) {
    Object.assign(this, { run, arrays, ids: null, stage: 0, node: -1, selection: null, lassoing: false });
    this.modes = modes(run, arrays);
    this.mode = Object.keys(this.modes)[0];
    this.filter = new Filter(this.modes, run.nodes);
    this.order = shuffled(run.nodes);
    this.opacity = Math.min(Math.max(1.15 - 0.1 * Math.log10(run.nodes), 0.55), 0.95);
    this.camera = new Camera(run.bounds);
    const stages = run.stages.map((_, i) => arrays[`stage${i}`]);
    this.view = new View(find("map"), this.camera, stages);
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.theme = this.dark.matches ? "dark" : "light";
  }

  /** Colours, visible nodes, rings and legend anew. */
  refresh() {
    const { view, run, arrays, stage, theme } = this;
    const mode = this.modes[this.mode];
    document.documentElement.dataset.theme = theme;
    const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
    view.theme = { paper: rgb(PAPER[theme].paper), ink: rgb(PAPER[theme].ink) };
    const lit = this.selection && this.mask(this.selection);
    const points = this.visible(mode, lit);
    view.setColors(paint(mode, stage, theme, this.opacity, lit), forms(mode, stage, run.nodes));
    view.setList("points", points);
    const at = arrays[`boundary${this.layer}`];
    const ringed = (node) => at[node] && (!lit || lit[node]);
    view.setList("rings", find("ring").checked && at ? points.filter(ringed) : NONE);
    find("ring-text").textContent = `Ring the boundary, layer ${this.layer + 1}`;
    legend(find("legend"), mode, stage, theme, this.filter.of(this.mode), (key) => {
      this.filter.toggle(this.mode, key);
      this.refresh();
    });
    find("by").textContent = mode.by ? `As decoded ${mode.by(stage)} shaping` : "";
    if (points.length < run.nodes) find("shown").hidden = false;
    else conceal("shown");
    find("shown-count").textContent = `${grouped(points.length)} of ${plural(run.nodes, "node")} shown`;
  }

  /** The nodes to draw, those that matter most last and so on top. */
  visible(mode, lit) {
    const shown = this.filter.mask(this.stage);
    const points = this.order.filter((node) => shown[node]);
    if (!mode.level && !lit) return points;
    const keys = lit ?? mode.keys(this.stage);
    const level = lit ? Number : mode.level;
    const layers = [0, 1, 2].map((height) => points.filter((node) => level(keys[node]) === height));
    let start = 0;
    for (const layer of layers) {
      points.set(layer, start);
      start += layer.length;
    }
    return points;
  }

  /** The layer whose boundary belongs to the stage: the one that starts from it, after the last the last. */
  get layer() {
    const looked = Object.keys(this.arrays).filter((name) => name.startsWith("boundary")).length;
    return Math.max(Math.min(this.stage, looked - 1), 0);
  }

  mask(nodes) {
    const mask = new Uint8Array(this.run.nodes);
    for (const node of nodes) mask[node] = 1;
    return mask;
  }

  setStage(stage) {
    this.stage = stage;
    this.view.goTo(stage, pace(500));
    find("stage").setAttribute("aria-valuetext", this.run.stages[stage]);
    [...find("stage-names").children].forEach((name, i) => name.setAttribute("aria-current", String(i === stage)));
    this.refresh();
  }

  select(nodes) {
    this.selection = nodes && nodes.length ? nodes : null;
    if (nodes) find("selection").hidden = false;
    else conceal("selection");
    find("selected").textContent = nodes ? `${plural(nodes.length, "node")} selected` : "";
    find("csv").disabled = !this.selection;
    this.refresh();
  }

  /** Show a node's panel; `fly` to it where it may be out of sight. */
  async choose(node, { fly = false, focus = false } = {}) {
    this.node = node;
    const { view, camera } = this;
    if (fly) {
      const [x, y] = view.place(node);
      camera.fly({ x, y, scale: Math.max(camera.scale, 5 * camera.whole) }, pace(600));
    }
    camera.fitted = false;
    view.setList("chosen", Uint32Array.of(node));
    view.setList("edges", NONE);
    view.setList("ends", NONE);
    const got = await this.attempt(Promise.all([get(`nodes/${node}.json`, "json"), this.named]));
    if (!got || this.node !== node) return;
    const [found] = got;
    view.setList("edges", Uint32Array.from(found.neighbors.flatMap((other) => [node, other])));
    view.setList("ends", Uint32Array.from(found.neighbors));
    this.found = found;
    this.showPanel();
    this.keepInSight(node);
    if (focus) find("node-id").focus();
  }

  /** The panel takes a part of the map: a node that would be under its edge comes to the middle. */
  keepInSight(node) {
    const { view, camera } = this;
    if (camera.flight) return;
    view.resize();
    const [x, y] = view.place(node);
    const [px, py] = camera.toScreen(x, y);
    if (px > 0 && py > 0 && px < camera.width && py < camera.height) return;
    camera.fly({ x, y, scale: camera.scale }, pace(300));
    view.follow();
  }

  showPanel() {
    const go = (other) => this.choose(other, { fly: true, focus: true });
    find("node-id").replaceChildren(make("bdi", {}, this.ids[this.node]));
    find("details").replaceChildren(...panel(this.found, this, go));
    if (NARROW.matches) find("controls").open = false;
    find("panel").hidden = false;
    find("panel").scrollTop = 0;
  }

  leave() {
    this.node = -1;
    conceal("panel");
    for (const name of ["chosen", "edges", "ends"]) this.view.setList(name, NONE);
  }

  /** What `work` comes to, or null after its failure was shown. */
  async attempt(work) {
    try {
      const result = await work;
      find("problem").hidden = true;
      return result;
    } catch (error) {
      problem(error.message);
      return null;
    }
  }

  async save() {
    await this.named;
    const text = await this.attempt(csv(this.selection, this, (name) => get(name, "arrayBuffer")));
    if (text === null) return;
    download(text, `${this.run.name}-seed${this.run.seed}-selection.csv`);
  }
}
