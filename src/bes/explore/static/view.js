// The picture, in WebGL: a buffer of positions a stage, one of colours, and lists of the nodes to draw.

import { Cache } from "./cache.js";
import { build } from "./shaders.js";

const NONE = new Uint32Array(0);

/** Milliseconds that a full picture may take to be drawn in every frame, and after which a moved one is drawn anew. */
const QUICK = 12;
const REST = 120;

export class View {
  /** Positions are `stages`, a Float32Array x0 y0 x1 y1 ... each; `stage` may lie between two of them. */
  constructor(canvas, camera, stages) {
    Object.assign(this, { canvas, camera, stages });
    this.count = stages[0].length / 2;
    this.stage = 0;
    this.move = null;
    this.frames = 0;
    this.slow = false;
    this.lists = { points: NONE, rings: NONE, edges: NONE, ends: NONE, chosen: NONE };
    this.colors = new Uint8Array(4 * this.count);
    this.shapes = new Uint8Array(this.count);
    this.theme = { paper: [1, 1, 1], ink: [0, 0, 0] };
    this.onframe = () => {};
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.start());
    this.start();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
    this.watchRatio();
  }

  start() {
    const gl = this.canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false });
    if (!gl) throw new Error("This browser has no WebGL 2, which the map needs.");
    this.gl = gl;
    const program = build(gl);
    gl.useProgram(program);
    this.at = {};
    for (const name of ["frame", "ink", "along", "size", "hole"]) this.at[name] = gl.getUniformLocation(program, name);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.positions = this.stages.map((points) => this.buffer(gl.ARRAY_BUFFER, points));
    this.tints = this.buffer(gl.ARRAY_BUFFER, this.colors);
    this.forms = this.buffer(gl.ARRAY_BUFFER, this.shapes);
    this.indices = {};
    for (const [name, list] of Object.entries(this.lists)) {
      this.indices[name] = this.buffer(gl.ELEMENT_ARRAY_BUFFER, list);
    }
    this.limit = Math.min(gl.getParameter(gl.MAX_RENDERBUFFER_SIZE), ...gl.getParameter(gl.MAX_VIEWPORT_DIMS));
    this.cache = new Cache(gl, this.limit);
    for (const place of [0, 1, 2, 3]) gl.enableVertexAttribArray(place);
    this.redraw();
  }

  buffer(kind, data, buffer = this.gl.createBuffer()) {
    this.gl.bindBuffer(kind, buffer);
    this.gl.bufferData(kind, data, this.gl.DYNAMIC_DRAW);
    return buffer;
  }

  /** RGBA, four bytes a node, and a shape, one byte. */
  setColors(colors, shapes) {
    Object.assign(this, { colors, shapes });
    this.buffer(this.gl.ARRAY_BUFFER, shapes, this.forms);
    this.buffer(this.gl.ARRAY_BUFFER, colors, this.tints);
    this.redraw();
  }

  /** What to draw: `points`, `rings`, `edges` (two nodes each), `ends`, `chosen`. */
  setList(name, list) {
    this.lists[name] = list;
    this.buffer(this.gl.ELEMENT_ARRAY_BUFFER, list, this.indices[name]);
    this.redraw();
  }

  /** Let the points wander to a stage. */
  goTo(stage, milliseconds) {
    this.move = { from: this.stage, to: stage, milliseconds, start: null };
    this.redraw();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const room = this.limit / Math.max(clientWidth, clientHeight, 1);
    this.ratio = Math.min(window.devicePixelRatio || 1, 2, room);
    this.canvas.width = Math.max(Math.round(clientWidth * this.ratio), 1);
    this.canvas.height = Math.max(Math.round(clientHeight * this.ratio), 1);
    this.camera.resize(clientWidth, clientHeight);
    this.redraw();
  }

  /** Another screen, or another zoom of the page, has other pixels while the canvas keeps its size. */
  watchRatio() {
    const same = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
    const changed = () => {
      this.resize();
      this.watchRatio();
    };
    same.addEventListener("change", changed, { once: true });
  }

  /** What is to be seen has changed. */
  redraw() {
    this.stale = true;
    this.follow();
  }

  /** Only the camera has moved. */
  follow() {
    this.waiting ??= requestAnimationFrame((now) => {
      this.waiting = null;
      const flying = this.camera.step(now);
      const wandering = this.wander(now);
      this.draw();
      if (flying || wandering) this.follow();
      this.frames += 1;
      this.onframe();
    });
  }

  wander(now) {
    if (!this.move) return false;
    const { from, to, milliseconds } = this.move;
    this.move.start ??= now;
    const part = milliseconds ? Math.min((now - this.move.start) / milliseconds, 1) : 1;
    this.stage = part === 1 ? to : from + (to - from) * part * part * (3 - 2 * part);
    if (part === 1) this.move = null;
    return part < 1;
  }

  /** Diameter of a point in CSS pixels: small where there are many, growing slowly as one comes near. */
  get size() {
    const base = Math.min(Math.max(44 / this.count ** 0.25, 1.6), 9);
    return base * Math.min(Math.max(this.camera.zoom, 1) ** 0.35, 4);
  }

  /** Straight to the screen where that is quick; otherwise by way of the cache, made anew when it has to be. */
  draw() {
    const { camera, cache } = this;
    const { width, height } = this.canvas;
    if (!this.slow || this.move) {
      this.stale = true;
      this.paint(width, height);
      return;
    }
    clearTimeout(this.rest);
    if (this.stale || (cache.sharp(camera) && !cache.covers(camera, width, height))) {
      this.stale = !cache.take(camera, width, height, (wide, high) => this.paint(wide, high));
      if (this.stale) {
        this.paint(width, height);
        return;
      }
    } else if (!cache.sharp(camera)) {
      this.rest = setTimeout(() => this.redraw(), REST);
    }
    this.clear();
    cache.show(camera, width, height);
  }

  clear() {
    this.gl.clearColor(...this.theme.paper, 1);
    this.gl.clear(this.gl.COLOR_BUFFER_BIT);
  }

  /** All lists into a picture of so many pixels; one larger than the canvas shows more than the camera sees. */
  paint(width, height) {
    const { gl, ratio, lists } = this;
    const stage = Math.min(Math.floor(this.stage), this.stages.length - 1);
    const next = Math.min(stage + 1, this.stages.length - 1);
    gl.viewport(0, 0, width, height);
    this.clear();
    [
      [this.positions[stage], 2, gl.FLOAT, false],
      [this.positions[next], 2, gl.FLOAT, false],
      [this.tints, 4, gl.UNSIGNED_BYTE, true],
      [this.forms, 1, gl.UNSIGNED_BYTE, false],
    ].forEach(([buffer, ...kind], place) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.vertexAttribPointer(place, ...kind, 0, 0);
    });
    const span = [width / this.canvas.width, height / this.canvas.height];
    this.aim(span);
    gl.uniform1f(this.at.along, this.stage - stage);
    const size = this.size * ratio;
    const line = Math.max(1.25 * ratio, size * 0.12);
    this.pass(gl.POINTS, "points", size, 0, 0, this.slow && this.move ? this.sample : Infinity);
    if (lists.rings.length) this.pass(gl.POINTS, "rings", size + 4 * ratio, line, 0.9);
    if (lists.edges.length) this.strokes(span);
    if (lists.ends.length) this.pass(gl.POINTS, "ends", size + 4 * ratio, line * 1.3, 1);
    if (lists.chosen.length) this.pass(gl.POINTS, "chosen", size + 14 * ratio, 2.5 * ratio, 1);
  }

  /** Point the camera, moved by some pixels, to see `span` times as far. */
  aim(span, dx = 0, dy = 0) {
    const { scale, width, height, x, y } = this.camera;
    const pixel = 1 / (scale * this.ratio);
    const [right, up] = [(2 * scale) / (span[0] * width), (2 * scale) / (span[1] * height)];
    this.gl.uniform4f(this.at.frame, x + dx * pixel, y + dy * pixel, right, up);
  }

  /** Edges: a line is a pixel wide, so that a wider one is several side by side. */
  strokes(span) {
    for (const corner of [0, 1, 2, 3]) {
      const [dx, dy] = [(corner & 1) - 0.5, (corner >> 1) - 0.5];
      this.aim(span, dx * this.ratio, dy * this.ratio);
      this.pass(this.gl.LINES, "edges", 1, 0, 0.3);
    }
    this.aim(span);
  }

  /** Wait until the picture is there: a pixel cannot be read before. */
  finish() {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  /** Time a full picture, to know whether every frame can have one. */
  measure() {
    this.finish();
    const start = performance.now();
    this.paint(this.canvas.width, this.canvas.height);
    this.finish();
    const took = performance.now() - start;
    this.slow = took > QUICK;
    this.sample = Math.ceil((this.lists.points.length * QUICK) / took);
    this.redraw();
  }

  /** One list; `alpha` of its ink, or 0 for the points' own colours. */
  pass(mode, name, size, hole, alpha, most = Infinity) {
    const { gl, theme } = this;
    gl.uniform1f(this.at.size, size);
    gl.uniform1f(this.at.hole, hole);
    gl.uniform4f(this.at.ink, ...theme.ink, alpha);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.indices[name]);
    gl.drawElements(mode, Math.min(this.lists[name].length, most), gl.UNSIGNED_INT, 0);
  }

  /** Where a node is, in the plane, at the stage that is shown or gone to. */
  place(node) {
    const points = this.shown;
    return [points[2 * node], points[2 * node + 1]];
  }

  get shown() {
    return this.stages[Math.round(this.move ? this.move.to : this.stage)];
  }
}
