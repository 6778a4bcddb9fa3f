/* What the map says of a point, and how a point is found by its name. */
Object.assign(EmbeddingMap.prototype, {
  /* What there is to say of a point, a line each: words, and names apart from them. */
  lines(i) {
    const { label, arms, part, rings } = this.seed;
    const called = (c) => isolated(c < 0 ? UNKNOWN.name : this.data.classes[c]);
    const found = [[isolated(this.name(i))], ["class: ", called(label[i])]];
    for (const arm of ["control", "bes"]) {
      const said = arms[arm];
      if (!said) continue;
      const right = label[i] < 0 ? "" : said.guess[i] === label[i] ? ", right" : ", wrong";
      found.push([`${arm}: `, called(said.guess[i]), `, ${said.sure[i]} %${right}`]);
    }
    if (part && part[i] < 3) found.push([["training", "validation", "test"][part[i]]]);
    const layers = rings.flatMap((ring, layer) => (ring.includes(i) ? [layer + 1] : []));
    if (layers.length) found.push([`at the boundary of layer ${layers.join(" and ")}`]);
    return found;
  },

  point(event) {
    const i = this.nearest(event.offsetX, event.offsetY);
    this.tip.hidden = i < 0;
    if (i < 0) return;
    const lines = this.lines(i).map((parts) => {
      const line = document.createElement("div");
      line.append(...parts);
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
    const lines = i < 0 ? [] : this.lines(i);
    const words = lines.flatMap((parts, place) => (place ? [" · ", ...parts] : parts));
    this.root.querySelector(".found").replaceChildren(...words);
    this.draw();
  },

  /* The place of an item by its name; a pair's ends in either order, with any dash between them. */
  placeOf(text) {
    for (const name of [text, text.trim()]) if (this.index.has(name)) return this.index.get(name);
    if (this.wide === 1) return undefined;
    for (const dash of text.matchAll(/[-\u2010-\u2015\u2212]/g)) {
      const ends = [text.slice(0, dash.index).trim(), text.slice(dash.index + 1).trim()];
      for (const [a, b] of [ends, [ends[1], ends[0]]]) {
        const found = this.index.get(`${a} – ${b}`);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  },

  /* Show a point that a choice of part, or the legend, hides. */
  reveal(i) {
    if (this.visible[i]) return;
    this.hidden.delete(`${this.colour} ${this.code[i]}`);
    if (!this.inPart(i)) this.part = this.root.querySelector(".part").value = "all";
    this.recolour();
  },

  /* Mark an item by its name; says whether it is on the map. */
  find(name) {
    const i = this.placeOf(name);
    if (i === undefined) return false;
    this.reveal(i);
    this.mark(i);
    const [x, y] = this.lens()(i);
    if (x < 0 || y < 0 || x > this.width || y > this.height) {
      this.middle = [this.now[2 * i], this.now[2 * i + 1]];
      this.draw();
    }
    return true;
  },
});
