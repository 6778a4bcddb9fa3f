// The explorer's page: loads a run, draws it, and ties the controls to the map.

import { find, make, pace, plural, problem } from "./dom.js";
import { Explorer, NARROW } from "./explorer.js";
import { listen } from "./gestures.js";
import { load, loadIds } from "./load.js";
import { nearest, within } from "./pick.js";
import { search } from "./search.js";

const REACH = 12; // pixels from a node at which it is still meant

async function start() {
  const explorer = new Explorer(await load());
  find("controls").open = !NARROW.matches;
  describe(explorer);
  watchFrames(explorer);
  explorer.refresh();
  explorer.named = loadIds(explorer.run).then((ids) => {
    explorer.ids = ids;
  });
  stages(explorer);
  colors(explorer);
  map(explorer);
  buttons(explorer);
  await explorer.named;
  const { run, arrays } = explorer;
  const beside = (node) => run.labels[arrays.class[node]] ?? "";
  search(find("search"), find("found"), explorer.ids, beside, (node) => explorer.choose(node, { fly: true }));
  find("search").disabled = false;
  document.documentElement.dataset.ready = "";
}

function describe({ run }) {
  document.title = `${run.name} · BES explorer`;
  find("title").replaceChildren(make("bdi", {}, run.name));
  find("peek").hidden = run.selection !== "test-peek";
  const { before, after } = run.accuracy;
  const facts = [`Seed ${run.seed}`, plural(run.nodes, "node"), plural(run.edges, "edge")];
  find("facts").textContent = facts.join(" · ");
  const score = (value) => (100 * value).toFixed(2);
  find("score").textContent =
    before === undefined || after === undefined ? "" : `Test ${run.metric} ${score(before)} → ${score(after)} %`;
}

/** Tell the first picture to whoever measures, and where the map stands to whoever tests. */
function watchFrames({ view, camera }) {
  const { dataset } = view.canvas;
  view.onframe = () => {
    if (view.frames === 1) {
      view.finish();
      performance.mark("first-picture");
      setTimeout(() => view.measure(), 50);
    }
    dataset.frames = view.frames;
    dataset.view = JSON.stringify([camera.x, camera.y, camera.scale, view.stage]);
    dataset.still = String(!view.move && !camera.flight);
  };
}

function stages(explorer) {
  const { run } = explorer;
  const slider = find("stage");
  slider.max = run.stages.length - 1;
  slider.setAttribute("aria-valuetext", run.stages[0]);
  slider.addEventListener("input", () => explorer.setStage(Number(slider.value)));
  const go = (stage) => {
    slider.value = stage;
    explorer.setStage(stage);
  };
  const names = run.stages.map((name, stage) =>
    make("button", { type: "button", tabindex: "-1", "aria-current": String(stage === 0), onclick: () => go(stage) }, name),
  );
  find("stage-names").replaceChildren(...names);
}

function colors(explorer) {
  const select = find("color");
  select.replaceChildren(
    ...Object.entries(explorer.modes).map(([key, mode]) => make("option", { value: key }, mode.name)),
  );
  select.addEventListener("change", () => {
    explorer.mode = select.value;
    explorer.refresh();
  });
  find("ring").addEventListener("change", () => explorer.refresh());
  find("show-all").addEventListener("click", () => {
    explorer.filter.clear();
    explorer.refresh();
  });
  const turn = (theme) => {
    explorer.theme = theme;
    explorer.refresh();
    if (!find("panel").hidden) explorer.showPanel();
  };
  find("theme").addEventListener("click", () => turn(explorer.theme === "dark" ? "light" : "dark"));
  explorer.dark.addEventListener("change", (event) => turn(event.matches ? "dark" : "light"));
}

function map(explorer) {
  const { view, camera } = explorer;
  const tip = find("tip");
  const under = (x, y) =>
    nearest(view.shown, view.lists.points, ...camera.toPlane(x, y), (REACH + view.size / 2) / camera.scale);
  let pending = null;

  listen(view.canvas, camera, {
    moved: () => view.follow(),
    lassoing: () => explorer.lassoing,
    click: (x, y) => {
      const node = under(x, y);
      if (node >= 0) explorer.choose(node);
      else explorer.leave();
    },
    leave: () => {
      pending = null;
      tip.hidden = true;
    },
    hover: (x, y) => {
      const idle = pending === null;
      pending = [x, y];
      if (idle) requestAnimationFrame(() => pending && hover(...pending));
    },
    loop: (points, done) => {
      find("loop").setAttribute("points", done ? "" : points.map((point) => point.join(",")).join(" "));
      if (!done) return;
      lasso(explorer, false);
      const polygon = points.map(([x, y]) => camera.toPlane(x, y));
      if (points.length > 2) explorer.select(within(view.shown, view.lists.points, polygon));
    },
  });

  function hover(x, y) {
    pending = null;
    const node = explorer.ids ? under(x, y) : -1;
    tip.hidden = node < 0;
    view.canvas.classList.toggle("over", node >= 0);
    if (node < 0) return;
    const name = explorer.run.labels[explorer.arrays.class[node]];
    tip.replaceChildren(
      make("bdi", { class: "id" }, explorer.ids[node]),
      make("bdi", { class: "quiet" }, name ?? ""),
    );
    const right = x > camera.width - 200;
    tip.style.transform = `translate(${right ? x - 12 : x + 12}px, ${y + 14}px) translateX(${right ? "-100%" : "0"})`;
  }
}

function lasso(explorer, on) {
  explorer.lassoing = on;
  find("lasso").setAttribute("aria-pressed", String(on));
  explorer.view.canvas.classList.toggle("lassoing", on);
}

function buttons(explorer) {
  const { view, camera } = explorer;
  const zoom = (factor) => () => {
    const goal = { x: camera.x, y: camera.y, scale: camera.scale * factor };
    camera.fly(goal, pace(200));
    view.follow();
  };
  find("zoom-in").addEventListener("click", zoom(1.6));
  find("zoom-out").addEventListener("click", zoom(1 / 1.6));
  find("fit").addEventListener("click", () => {
    camera.fly(camera.home(), pace(400));
    camera.fitted = true;
    view.follow();
  });
  find("lasso").addEventListener("click", () => lasso(explorer, !explorer.lassoing));
  find("csv").addEventListener("click", () => explorer.save());
  find("clear").addEventListener("click", () => explorer.select(null));
  find("close").addEventListener("click", () => explorer.leave());
  find("controls").addEventListener("toggle", () => {
    if (NARROW.matches && find("controls").open) explorer.leave();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== find("search")) {
      event.preventDefault();
      find("search").focus();
    }
    if (event.key !== "Escape" || event.defaultPrevented) return;
    if (explorer.lassoing) lasso(explorer, false);
    else if (!find("panel").hidden) explorer.leave();
    else if (explorer.selection) explorer.select(null);
  });
}

start().catch((error) => problem(`The map cannot be shown. ${error.message}`));
