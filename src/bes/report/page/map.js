/* The map of one run: a canvas, its controls, and what is said of the item pointed at. */
class EmbeddingMap {
  constructor(root) {
    this.root = root;
    this.data = JSON.parse(root.querySelector("script").textContent);
    this.wide = this.data.what === "pair" ? 2 : 1;
    this.styles = this.data.classes.map((name, c) => {
      const [color, symbol] = this.data.styles[c];
      return { name, color: this.data.colors[color], symbol };
    });
    this.outcomes = this.data.outcomes.map((name, c) => ({ name, ...OUTCOMES[c] }));
    this.canvas = root.querySelector("canvas");
    this.tip = root.querySelector(".tip");
    this.hidden = new Set();
    this.rings = true;
    this.stage = 0;
    this.part = "all";
    this.colour = "class";
    this.marked = -1;
    for (const part of root.querySelectorAll(".controls, .frame, .legend, .find")) part.hidden = false;
    this.listen();
    this.choose(0);
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.watchRatio();
  }

  /* Show another of the run's seeds. */
  choose(place) {
    cancelAnimationFrame(this.frame);
    this.seed = unpack(this.data.seeds[place]);
    this.stage = Math.min(this.stage, this.seed.stages.length - 1);
    this.offer(this.data.seeds[place].total);
    this.now = this.seed.stages[this.stage].slice();
    this.index = new Map(Array.from({ length: this.seed.n }, (_, i) => [this.name(i), i]));
    this.radius = this.seed.n > 6000 ? 2.4 : this.seed.n > 1500 ? 3.2 : 4.2;
    this.mark(-1);
    this.look();
    this.tell();
    this.recolour();
  }

  /* Only what this seed has: its layers, its colours, and the words on them. */
  offer(total) {
    const last = this.seed.stages.length - 1;
    const section = this.root.closest("section");
    section.querySelector(".still").hidden = last > 0;
    section.querySelector(".sampled").hidden = this.seed.n === total;
    section.querySelector(".total").textContent = total.toLocaleString("en");
    section.querySelector(".drawn").textContent = this.seed.n.toLocaleString("en");
    for (const part of this.root.querySelectorAll(".switch, .slider")) part.hidden = last === 0;
    const slider = this.root.querySelector(".layer");
    if (slider) slider.max = last;
    const choice = this.root.querySelector(".colour");
    if (!choice) return;
    const there = { class: true, prediction: Object.keys(this.seed.arms).length > 0, error: this.seed.outcome !== null };
    for (const option of choice.options) option.hidden = option.disabled = !there[option.value];
    if (!there[this.colour]) this.colour = choice.value = "class";
  }

  name(i) {
    const at = this.seed.at;
    return this.wide === 1
      ? this.data.names[at[i]]
      : `${this.data.names[at[2 * i]]} – ${this.data.names[at[2 * i + 1]]}`;
  }

  /* Move to a stage: at once, or within a moment where motion is welcome. */
  go(stage) {
    this.stage = stage;
    this.tell();
    if (this.colour === "prediction") this.recolour();
    cancelAnimationFrame(this.frame);
    const from = this.now.slice();
    const to = this.seed.stages[stage];
    const started = performance.now();
    const length = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 700;
    const step = (time) => {
      const share = length ? Math.min(1, Math.max(0, (time - started) / length)) : 1;
      const eased = share < 1 ? share * share * (3 - 2 * share) : 1;
      for (let i = 0; i < to.length; i++) this.now[i] = from[i] + eased * (to[i] - from[i]);
      if (share === 1) this.now.set(to);
      this.draw();
      if (share < 1) this.frame = requestAnimationFrame(step);
    };
    step(started);
  }

  /* Bring the controls into line with the stage. */
  tell() {
    const last = this.seed.stages.length - 1;
    const words = this.stage === 0 ? "encoders" : `after layer ${this.stage}`;
    const slider = this.root.querySelector(".layer");
    if (slider) {
      slider.value = this.stage;
      slider.setAttribute("aria-valuetext", words);
      this.root.querySelector("output").textContent = words;
      this.root.querySelector(".before").setAttribute("aria-pressed", this.stage === 0);
      this.root.querySelector(".after").setAttribute("aria-pressed", this.stage === last);
    }
    const layer = this.layer();
    const ring = this.seed.rings[layer] || [];
    const key = this.root.querySelector(".legend .ring .text");
    if (key) key.textContent = `boundary of layer ${layer + 1} (${ring.length})`;
    const label = `Map of the embedding, seed ${this.seed.seed}, ${words}: ${this.seed.n} ${this.data.what}s`;
    this.canvas.setAttribute("aria-label", label);
  }

  /* The layer whose boundary is ringed: the next one, which found it in what is shown; the last at the end. */
  layer() {
    return Math.max(0, Math.min(this.stage, this.seed.rings.length - 1));
  }

  /* What colours a point: a number into the list of styles, -1 where there is none. */
  codes() {
    const { label, arms, outcome, n } = this.seed;
    if (this.colour === "class") return label;
    const first = this.stage === 0 ? arms.control || arms.bes : arms.bes || arms.control;
    const found = this.colour === "error" ? outcome : first && first.guess;
    return found || new Int8Array(n).fill(-1);
  }

  /* The style of points without a number. */
  rest() {
    if (this.colour !== "error") return UNKNOWN;
    const unknown = this.seed.part.some((part, i) => part === 2 && this.seed.label[i] < 0);
    return { ...UNKNOWN, name: unknown ? "not in test, or of unknown class" : "not in test" };
  }

  /* The symbols as the screen needs them now. */
  stamp() {
    this.sprites = this.list.map((style) => sprite(style, this.radius, devicePixelRatio || 1, this.theme));
  }

  recolour() {
    this.theme = palette(this.root);
    const list = this.colour === "error" ? this.outcomes : this.styles;
    this.list = [...list, this.rest()];
    this.code = Int16Array.from(this.codes(), (c) => (c < 0 ? list.length : c));
    this.stamp();
    const counts = new Array(this.list.length).fill(0);
    for (let i = 0; i < this.seed.n; i++) if (this.inPart(i)) counts[this.code[i]]++;
    this.filter();
    const legend = this.root.querySelector(".legend");
    legend.replaceChildren(
      ...this.list.flatMap((style, c) => (counts[c] ? [this.key(style, [isolated(called(style.name)), ` (${counts[c]})`], c)] : [])),
      ...(this.seed.rings.length ? [this.key({ symbol: -1, color: "ink" }, [], "ring")] : []),
    );
    this.tell();
    this.draw();
  }

  /* A line of the legend: a button that hides and shows. */
  key(style, text, what) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    const words = document.createElement("span");
    button.type = "button";
    button.className = what === "ring" ? "ring" : "";
    words.className = "text";
    words.append(...text);
    const shown = () => (what === "ring" ? this.rings : !this.hidden.has(`${this.colour} ${what}`));
    button.setAttribute("aria-pressed", shown());
    button.append(swatch(style, this.theme), words);
    button.addEventListener("click", () => {
      const name = `${this.colour} ${what}`;
      if (what === "ring") this.rings = !this.rings;
      else if (!this.hidden.delete(name)) this.hidden.add(name);
      button.setAttribute("aria-pressed", shown());
      this.filter();
      this.draw();
    });
    item.append(button);
    return item;
  }

  inPart(i) {
    return this.part === "all" || !this.seed.part || this.seed.part[i] === Number(this.part);
  }

  /* The points to be drawn, looked up once and not in every frame. */
  filter() {
    const shown = this.list.map((_, c) => !this.hidden.has(`${this.colour} ${c}`));
    this.visible = Uint8Array.from(this.code, (c, i) => (shown[c] && this.inPart(i) ? 1 : 0));
  }
}
