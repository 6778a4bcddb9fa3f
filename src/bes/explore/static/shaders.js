// Points, rings and lines, between two stages; `ink` overrides a node's own colour and shape, `hole` makes a ring.
// Shapes by number: circle, square, triangle, diamond, cross, triangle upside down.

const VERTEX = `#version 300 es
layout(location = 0) in vec2 here;
layout(location = 1) in vec2 there;
layout(location = 2) in vec4 tint;
layout(location = 3) in float shape;
uniform vec4 frame;
uniform vec4 ink;
uniform float along;
uniform float size;
out vec4 paint;
flat out float form;
void main() {
  gl_Position = vec4((mix(here, there, along) - frame.xy) * frame.zw, 0.0, 1.0);
  gl_PointSize = size;
  paint = ink.a > 0.0 ? ink : tint;
  form = ink.a > 0.0 ? 0.0 : shape;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 paint;
flat in float form;
uniform float size;
uniform float hole;
out vec4 pixel;

/* How far outside the shape a place is, in pixels; within, it is negative. */
float outside(vec2 place, float reach) {
  if (form < 0.5) return length(place) - reach;
  vec2 away = abs(place);
  if (form < 1.5) return max(away.x, away.y) - 0.85 * reach;
  if (form > 2.5 && form < 3.5) return (away.x + away.y - reach) * 0.707;
  if (form > 3.5 && form < 4.5) return max(min(away.x, away.y) - 0.36 * reach, max(away.x, away.y) - reach);
  float down = (form > 4.5 ? -place.y : place.y) - 0.25 * reach;
  return max(down, away.x * 0.866 - down * 0.5) - 0.57 * reach;
}

void main() {
  float cover = 1.0;
  if (size > 2.5) {
    float far = outside((gl_PointCoord - 0.5) * size, size * 0.5);
    cover = clamp(-far, 0.0, 1.0);
    if (hole > 0.0) cover *= clamp(far + hole + 1.0, 0.0, 1.0);
    if (cover == 0.0) discard;
  }
  float alpha = paint.a * cover;
  pixel = vec4(paint.rgb * alpha, alpha);
}`;

/** Both, ready for use. */
export function build(gl) {
  const program = gl.createProgram();
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  return program;
}
