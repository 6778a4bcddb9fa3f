// Mouse, finger and keys on the map: move, zoom, choose, and draw a loop around nodes.

const CLICK = 5; // pixels that a click may tremble
const STEP = 60; // pixels an arrow key

/** `on`: moved(), click(x, y), hover(x, y), leave(), loop(points, done), lassoing(). */
export function listen(canvas, camera, on) {
  const down = new Map();
  let travelled = 0;
  let loop = null;

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, at(event));
    travelled = 0;
    if (loop) on.loop([], false);
    loop = down.size === 1 && (event.shiftKey || on.lassoing()) ? [at(event)] : null;
    on.leave();
  });

  canvas.addEventListener("pointermove", (event) => {
    if (!down.has(event.pointerId)) {
      if (event.pointerType === "mouse") on.hover(...at(event));
      return;
    }
    const [x, y] = at(event);
    const [oldX, oldY] = down.get(event.pointerId);
    travelled += Math.hypot(x - oldX, y - oldY);
    if (loop) {
      const passed = event.getCoalescedEvents?.() ?? [];
      loop.push(...(passed.length ? passed : [event]).map(at));
      on.loop(loop, false);
    } else if (down.size === 2) {
      const [other] = [...down].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const grown = Math.hypot(x - other[0], y - other[1]) / Math.max(Math.hypot(oldX - other[0], oldY - other[1]), 1);
      camera.zoomAt(grown, (x + other[0]) / 2, (y + other[1]) / 2);
      camera.pan((x - oldX) / 2, (y - oldY) / 2);
      on.moved();
    } else if (travelled > CLICK || event.pointerType !== "mouse") {
      camera.pan(x - oldX, y - oldY);
      on.moved();
    }
    down.set(event.pointerId, [x, y]);
  });

  const up = (event) => {
    if (!down.delete(event.pointerId)) return;
    if (loop && event.type === "pointercancel") on.loop([], false);
    else if (loop) on.loop(loop, true);
    else if (event.type === "pointerup" && travelled <= CLICK && down.size === 0) on.click(...at(event));
    loop = null;
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => on.leave());

  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      camera.zoomAt(Math.exp(-event.deltaY * lines * 0.0015), ...at(event));
      on.moved();
    },
    { passive: false },
  );

  const keys = {
    ArrowLeft: () => camera.pan(STEP, 0),
    ArrowRight: () => camera.pan(-STEP, 0),
    ArrowUp: () => camera.pan(0, STEP),
    ArrowDown: () => camera.pan(0, -STEP),
    "+": () => camera.zoomAt(1.3),
    "=": () => camera.zoomAt(1.3),
    "-": () => camera.zoomAt(1 / 1.3),
    0: () => camera.showAll(),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
    on.moved();
  });
}
