// Where one looks from: the middle of the picture in the plane's own units, and pixels a unit.

export class Camera {
  constructor(bounds) {
    [this.left, this.right, this.bottom, this.top] = bounds;
    this.width = this.height = 1;
    this.x = this.y = 0;
    this.scale = 1;
    this.flight = null;
    this.fitted = true;
  }

  /** The scale at which everything fits. */
  get whole() {
    const wide = Math.max(this.right - this.left, 1e-9);
    const high = Math.max(this.top - this.bottom, 1e-9);
    return 0.92 * Math.min(this.width / wide, this.height / high);
  }

  get zoom() {
    return this.scale / this.whole;
  }

  /** All of it is shown as long as nobody has moved; after that it stays where it is, seen from the upper left. */
  resize(width, height) {
    this.x += (width - this.width) / 2 / this.scale;
    this.y -= (height - this.height) / 2 / this.scale;
    this.width = Math.max(width, 1);
    this.height = Math.max(height, 1);
    if (this.fitted) this.showAll();
  }

  showAll() {
    this.flight = null;
    this.fitted = true;
    Object.assign(this, this.home());
  }

  home() {
    return { x: (this.left + this.right) / 2, y: (this.bottom + this.top) / 2, scale: this.whole };
  }

  toScreen(x, y) {
    return [(x - this.x) * this.scale + this.width / 2, this.height / 2 - (y - this.y) * this.scale];
  }

  toPlane(px, py) {
    return [(px - this.width / 2) / this.scale + this.x, (this.height / 2 - py) / this.scale + this.y];
  }

  /** From here on the map is the reader's to move. */
  hold() {
    this.flight = null;
    this.fitted = false;
  }

  pan(dx, dy) {
    this.hold();
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
  }

  /** Zoom by a factor, with what lies under the pixel staying there. */
  zoomAt(factor, px = this.width / 2, py = this.height / 2) {
    this.hold();
    const [x, y] = this.toPlane(px, py);
    this.scale = Math.min(Math.max(this.scale * factor, 0.2 * this.whole), 2000 * this.whole);
    this.x = x - (px - this.width / 2) / this.scale;
    this.y = y + (py - this.height / 2) / this.scale;
  }

  /** Go somewhere in `milliseconds`; `step` moves on and says whether one is still under way. */
  fly(goal, milliseconds) {
    this.hold();
    this.flight = { from: { x: this.x, y: this.y, scale: this.scale }, goal, milliseconds, start: null };
  }

  step(now) {
    if (!this.flight) return false;
    const { from, goal, milliseconds } = this.flight;
    this.flight.start ??= now;
    const part = milliseconds ? Math.min((now - this.flight.start) / milliseconds, 1) : 1;
    const eased = part * part * (3 - 2 * part);
    this.x = from.x + (goal.x - from.x) * eased;
    this.y = from.y + (goal.y - from.y) * eased;
    this.scale = from.scale * (goal.scale / from.scale) ** eased;
    if (part === 1) this.flight = null;
    return part < 1;
  }
}
