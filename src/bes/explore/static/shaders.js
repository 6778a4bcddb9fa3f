// Points, rings and lines, between two stages; `ink` overrides a node's own colour, `hole` makes a ring.

export const VERTEX = `#version 300 es
layout(location = 0) in vec2 here;
layout(location = 1) in vec2 there;
layout(location = 2) in vec4 tint;
uniform vec4 frame;
uniform vec4 ink;
uniform float along;
uniform float size;
out vec4 paint;
void main() {
  gl_Position = vec4((mix(here, there, along) - frame.xy) * frame.zw, 0.0, 1.0);
  gl_PointSize = size;
  paint = ink.a > 0.0 ? ink : tint;
}`;

export const FRAGMENT = `#version 300 es
precision highp float;
in vec4 paint;
uniform float size;
uniform float hole;
out vec4 pixel;
void main() {
  float cover = 1.0;
  if (size > 2.5) {
    float far = length(gl_PointCoord - 0.5) * size;
    cover = clamp(size * 0.5 - far, 0.0, 1.0);
    if (hole > 0.0) cover *= clamp(far - size * 0.5 + hole + 1.0, 0.0, 1.0);
    if (cover == 0.0) discard;
  }
  float alpha = paint.a * cover;
  pixel = vec4(paint.rgb * alpha, alpha);
}`;
