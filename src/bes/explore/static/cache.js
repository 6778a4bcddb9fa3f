// A picture twice as wide and high as the window, or as large as can be, to be pushed about while one moves.
// Without a graphics card a full picture of many points takes long; moving one that is there does not.

export class Cache {
  /** `limit`: pixels that a picture can be wide or high. */
  constructor(gl, limit) {
    Object.assign(this, { gl, limit });
    this.frame = gl.createFramebuffer();
    this.store = gl.createRenderbuffer();
    this.width = this.height = 0;
    this.shot = null;
  }

  /** Let `paint` fill the picture for what `camera` sees and some more around it; false where there is no room. */
  take(camera, width, height, paint) {
    const { gl } = this;
    const [wide, high] = [width, height].map((side) => Math.min(2 * side, this.limit));
    if (this.width !== wide || this.height !== high) {
      [this.width, this.height] = [wide, high];
      gl.bindRenderbuffer(gl.RENDERBUFFER, this.store);
      gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, this.width, this.height);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, this.store);
    const whole = gl.checkFramebufferStatus(gl.FRAMEBUFFER) === gl.FRAMEBUFFER_COMPLETE;
    if (whole) paint(wide, high);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    this.shot = whole && { x: camera.x, y: camera.y, scale: camera.scale, ratio: width / camera.width };
    return whole;
  }

  /** What `camera` sees, as a rectangle of the picture's pixels. */
  window(camera, width, height) {
    const { shot } = this;
    const grow = shot.scale / camera.scale;
    const x = this.width / 2 + (camera.x - shot.x) * shot.scale * shot.ratio - (width * grow) / 2;
    const y = this.height / 2 + (camera.y - shot.y) * shot.scale * shot.ratio - (height * grow) / 2;
    return [x, y, x + width * grow, y + height * grow];
  }

  /** Whether the picture is sharp and whole for `camera`. */
  sharp(camera) {
    return Boolean(this.shot) && this.shot.scale === camera.scale;
  }

  covers(camera, width, height) {
    if (!this.shot) return false;
    const [left, bottom, right, top] = this.window(camera, width, height);
    return left >= 0 && bottom >= 0 && right <= this.width && top <= this.height;
  }

  show(camera, width, height) {
    const { gl } = this;
    const [left, bottom, right, top] = this.window(camera, width, height).map(Math.round);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.frame);
    const filter = this.sharp(camera) ? gl.NEAREST : gl.LINEAR;
    gl.blitFramebuffer(left, bottom, right, top, 0, 0, width, height, gl.COLOR_BUFFER_BIT, filter);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, null);
  }
}
