// Which nodes lie where: a pass over the positions is quick enough for 200,000 of them.

/** The node of `nodes` nearest to (x, y), or -1 where none is within `reach`. */
export function nearest(points, nodes, x, y, reach) {
  let best = -1;
  let least = reach * reach;
  for (let i = 0; i < nodes.length; i += 1) {
    const dx = points[2 * nodes[i]] - x;
    const dy = points[2 * nodes[i] + 1] - y;
    const far = dx * dx + dy * dy;
    if (far <= least) {
      best = nodes[i];
      least = far;
    }
  }
  return best;
}

/** The nodes of `nodes` inside a polygon [[x, y], ...], in order of their numbers. */
export function within(points, nodes, polygon) {
  const xs = polygon.map(([x]) => x);
  const ys = polygon.map(([, y]) => y);
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [bottom, top] = [Math.min(...ys), Math.max(...ys)];
  const found = [];
  for (const node of nodes) {
    const x = points[2 * node];
    const y = points[2 * node + 1];
    if (x >= left && x <= right && y >= bottom && y <= top && inside(x, y, polygon)) found.push(node);
  }
  return Uint32Array.from(found).sort();
}

/** Even-odd rule. */
function inside(x, y, polygon) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [ax, ay] = polygon[i];
    const [bx, by] = polygon[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}
