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
    this.stamp();
    this.draw();
  },

  /* A window that moves to another screen, or a page that is zoomed, has other pixels. */
  watchRatio() {
    const now = matchMedia(`(resolution: ${devicePixelRatio || 1}dppx)`);
    const changed = () => {
      this.resize();
      this.watchRatio();
    };
    now.addEventListener("change", changed, { once: true });
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
    this.canvas.style.touchAction = this.zoom > 1 ? "pinch-zoom" : ""; // a finger scrolls the page until there is more to see
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
    if (this.visible[this.marked]) this.circle(ctx, lens(this.marked), this.radius + 8, 3, this.theme.accent);
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
      if (!this.find(wanted)) {
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
      if (event.pointerType === "touch" && this.zoom <= 1) return; // the page scrolls
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
