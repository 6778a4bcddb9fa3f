/* How the map is drawn and looked at: zoom, drag, pointing, keys. */
Object.assign(EmbeddingMap.prototype, {
  /* Look at the points of all stages but this share at each end, so that a few far away do not make the rest small. */
  look(away = 0.003) {
    const ends = [0, 1].map((axis) => {
      const values = this.seed.stages.flatMap((stage) => Array.from(stage.filter((_, i) => i % 2 === axis)));
      const sorted = Float32Array.from(values).sort();
      const cut = Math.floor(away * sorted.length);
      return [sorted[cut], sorted[sorted.length - 1 - cut]];
    });
    this.span = ends.map(([low, high]) => high - low || 1);
    this.middle = ends.map(([low, high]) => (low + high) / 2);
    this.zoom = 1;
  },

  all() {
    this.look(0);
    this.draw();
  },

  resize() {
    const ratio = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.draw();
  },

  /* Pixels of the page for a unit of the plane, the same on both axes. */
  scale() {
    return 0.94 * this.zoom * Math.min(this.width / this.span[0], this.height / this.span[1]);
  },

  /* From the plane to the canvas, in pixels of the page. */
  lens() {
    const scale = this.scale();
    const left = this.width / 2 - this.middle[0] * scale;
    const top = this.height / 2 + this.middle[1] * scale;
    return (i) => [left + this.now[2 * i] * scale, top - this.now[2 * i + 1] * scale];
  },

  draw() {
    if (!this.width || !this.sprites) return; // in a closed part of the page
    const ctx = this.canvas.getContext("2d");
    const ratio = this.canvas.width / this.width;
    const lens = this.lens();
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
    let outside = 0;
    for (let i = 0; i < this.seed.n; i++) {
      if (!this.visible[i]) continue;
      const [x, y] = lens(i);
      const stamp = this.sprites[this.code[i]];
      if (x < 0 || y < 0 || x > this.width || y > this.height) outside++;
      else ctx.drawImage(stamp, Math.round(x * ratio - stamp.width / 2), Math.round(y * ratio - stamp.height / 2));
    }
    this.root.querySelector(".outside").textContent = outside ? `${outside} outside the picture` : "";
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.rings) {
      for (const i of this.seed.rings[this.layer()] || []) {
        if (this.visible[i]) this.circle(ctx, lens(i), this.radius + 2.2, 1.1, this.theme.ink);
      }
    }
    if (this.marked >= 0) this.circle(ctx, lens(this.marked), this.radius + 8, 3, this.theme.accent);
  },

  circle(ctx, [x, y], radius, width, color) {
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 7);
    ctx.lineWidth = width;
    ctx.strokeStyle = color;
    ctx.stroke();
  },

  /* The visible point nearest to a place of the canvas, within reach. */
  nearest(left, top) {
    let best = -1;
    let reach = 14 * 14;
    const lens = this.lens();
    for (let i = 0; i < this.seed.n; i++) {
      if (!this.visible[i]) continue;
      const [x, y] = lens(i);
      const distance = (x - left) ** 2 + (y - top) ** 2;
      if (distance < reach) {
        reach = distance;
        best = i;
      }
    }
    return best;
  },

  /* What there is to say of a point, a line each. */
  lines(i) {
    const { label, arms, part, rings } = this.seed;
    const called = (c) => (c < 0 ? UNKNOWN.name : this.data.classes[c]);
    const found = [this.name(i), `class: ${called(label[i])}`];
    for (const arm of ["control", "bes"]) {
      const said = arms[arm];
      if (!said) continue;
      const right = label[i] < 0 ? "" : said.guess[i] === label[i] ? ", right" : ", wrong";
      found.push(`${arm}: ${called(said.guess[i])}, ${said.sure[i]} %${right}`);
    }
    if (part && part[i] < 3) found.push(["training", "validation", "test"][part[i]]);
    const layers = rings.flatMap((ring, layer) => (ring.includes(i) ? [layer + 1] : []));
    if (layers.length) found.push(`at the boundary of layer ${layers.join(" and ")}`);
    return found;
  },

  point(event) {
    const i = this.nearest(event.offsetX, event.offsetY);
    this.tip.hidden = i < 0;
    if (i < 0) return;
    const lines = this.lines(i).map((text) => {
      const line = document.createElement("div");
      line.textContent = text;
      return line;
    });
    this.tip.replaceChildren(...lines);
    const left = Math.min(event.offsetX + 14, this.width - this.tip.offsetWidth - 4);
    const above = event.offsetY + 14 + this.tip.offsetHeight > this.height;
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${above ? event.offsetY - this.tip.offsetHeight - 10 : event.offsetY + 14}px`;
  },

  /* Mark a point, and say in words what is known of it. */
  mark(i) {
    this.marked = i;
    this.root.querySelector(".found").textContent = i < 0 ? "" : this.lines(i).join(" · ");
    this.draw();
  },

  /* Mark an item by its name; says whether it is on the map. */
  find(name) {
    const i = this.index.get(name);
    if (i === undefined) return false;
    this.mark(i);
    const [x, y] = this.lens()(i);
    if (x < 0 || y < 0 || x > this.width || y > this.height) {
      this.middle = [this.now[2 * i], this.now[2 * i + 1]];
      this.draw();
    }
    return true;
  },

  /* Nearer or further, around a place of the canvas. */
  magnify(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.scale();
    this.zoom = Math.min(200, Math.max(0.5, this.zoom * factor));
    const change = 1 / before - 1 / this.scale();
    this.middle[0] += (x - this.width / 2) * change;
    this.middle[1] -= (y - this.height / 2) * change;
    this.draw();
  },

  shift(dx, dy) {
    this.middle[0] -= dx / this.scale();
    this.middle[1] += dy / this.scale();
    this.draw();
  },

  listen() {
    const on = (query, event, act) => this.root.querySelector(query)?.addEventListener(event, act);
    on(".before", "click", () => this.go(0));
    on(".after", "click", () => this.go(this.seed.stages.length - 1));
    on(".layer", "input", (event) => this.go(Number(event.target.value)));
    on(".colour", "change", (event) => {
      this.colour = event.target.value;
      this.recolour();
    });
    on(".part", "change", (event) => {
      this.part = event.target.value;
      this.recolour();
    });
    on(".in", "click", () => this.magnify(1.5));
    on(".out", "click", () => this.magnify(1 / 1.5));
    on(".whole", "click", () => this.all());
    on(".find", "submit", (event) => {
      event.preventDefault();
      const wanted = event.target.querySelector("input").value;
      if (!this.find(wanted) && !this.find(wanted.trim())) {
        this.mark(-1);
        this.root.querySelector(".found").textContent = `No ${this.data.what} of that name is on this map.`;
      }
    });
    this.listenToPointer();
  },

  listenToPointer() {
    const on = (event, act) => this.canvas.addEventListener(event, act, { passive: false });
    let last = null;
    let moved = false;
    on("pointerdown", (event) => {
      moved = false;
      if (event.pointerType === "touch") return; // a finger scrolls the page
      last = [event.clientX, event.clientY];
      this.canvas.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      if (!last) return this.point(event);
      moved = moved || Math.hypot(event.clientX - last[0], event.clientY - last[1]) > 2;
      if (!moved) return;
      this.tip.hidden = true;
      this.shift(event.clientX - last[0], event.clientY - last[1]);
      last = [event.clientX, event.clientY];
    });
    on("pointerup", () => (last = null));
    on("pointercancel", () => (last = null));
    on("pointerleave", () => (this.tip.hidden = true));
    on("click", (event) => moved || this.mark(this.nearest(event.offsetX, event.offsetY)));
    on("dblclick", (event) => this.magnify(2, event.offsetX, event.offsetY));
    on("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      this.magnify(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
    });
    const keys = {
      ArrowLeft: () => this.shift(40, 0),
      ArrowRight: () => this.shift(-40, 0),
      ArrowUp: () => this.shift(0, 40),
      ArrowDown: () => this.shift(0, -40),
      "+": () => this.magnify(1.3),
      "=": () => this.magnify(1.3),
      "-": () => this.magnify(1 / 1.3),
      0: () => this.all(),
      Escape: () => this.mark(-1),
    };
    on("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  },
});
