/* Tables that sort, boxes that scroll, seeds that are chosen, light and dark. */
function sortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    const cell = row.cells[column];
    return (cell.dataset.sort ?? cell.textContent).trim();
  };
  const sort = (column, sign) => {
    const numeric = [...body.rows].every((row) => /^([+-]?\d|none$|$)/.test(value(row, column)));
    const rows = [...body.rows].map((row) => {
      const text = value(row, column);
      return { row, text, number: parseFloat(text) };
    });
    const known = ({ text, number }) => (numeric ? !Number.isNaN(number) : text !== "");
    rows.sort((a, b) => {
      if (!known(a) || !known(b)) return known(b) - known(a); // what has no value stays last
      return sign * (numeric ? a.number - b.number : a.text.localeCompare(b.text));
    });
    body.append(...rows.map(({ row }) => row));
    heads.forEach((head, i) => {
      head.setAttribute("aria-sort", i !== column ? "none" : sign > 0 ? "ascending" : "descending");
    });
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sort(column, head.getAttribute("aria-sort") === "ascending" ? -1 : 1));
  });
}

/* A box that scrolls can be reached by the keyboard; one that does not is passed over. */
function reachable(box) {
  new ResizeObserver(() => {
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }).observe(box);
}

/* One seed is shown at a time, the same in all sections of a run. */
function seeds(run, map) {
  const choices = [...run.querySelectorAll("select.seeds")];
  for (const choice of choices) {
    choice.closest("label").hidden = false;
    choice.addEventListener("change", () => {
      for (const other of choices) other.value = choice.value;
      for (const part of run.querySelectorAll("[data-seed]")) part.hidden = part.dataset.seed !== choice.value;
      if (map) map.choose(choice.selectedIndex);
    });
  }
}

/* The names of changed nodes lead to the map, where they are on it. */
function findable(run, map) {
  for (const cell of run.querySelectorAll(".changed th.id")) {
    const seed = cell.closest("[data-seed]");
    const name = cell.textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Find on the map";
    button.append(...cell.childNodes);
    cell.replaceChildren(button);
    button.addEventListener("click", () => {
      if (String(map.seed.seed) === seed.dataset.seed && map.find(name)) {
        map.canvas.scrollIntoView({ block: "center" });
        map.canvas.focus({ preventScroll: true });
      } else {
        button.title = "Not on the map";
      }
    });
  }
}

function start() {
  const maps = [];
  for (const run of document.querySelectorAll(".run")) {
    const root = run.querySelector(".map");
    const map = root ? new EmbeddingMap(root) : null;
    if (map) {
      root.map = map;
      maps.push(map);
      if (map.wide === 1) findable(run, map);
    }
    seeds(run, map);
  }
  for (const table of document.querySelectorAll("table.sortable")) sortable(table);
  for (const box of document.querySelectorAll(".scroll")) reachable(box);
  themes(() => maps.forEach((map) => map.recolour()));
  openings();
}

/* Light or dark, as the system says until the button says otherwise. */
function themes(redraw) {
  const button = document.getElementById("theme");
  const page = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (page.dataset.theme ? page.dataset.theme === "dark" : system.matches);
  const show = () => {
    button.setAttribute("aria-pressed", dark());
    redraw();
  };
  try {
    const kept = localStorage.getItem("bes-theme");
    if (kept) page.dataset.theme = kept;
  } catch {} // a browser that keeps nothing for files
  button.hidden = false;
  button.addEventListener("click", () => {
    page.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("bes-theme", page.dataset.theme);
    } catch {}
    show();
  });
  system.addEventListener("change", show);
  let chosen;
  addEventListener("beforeprint", () => {
    chosen = page.dataset.theme;
    page.dataset.theme = "light";
    redraw();
  });
  addEventListener("afterprint", () => {
    if (chosen) page.dataset.theme = chosen;
    else delete page.dataset.theme;
    redraw();
  });
  show();
}

/* A link into a closed part opens it. */
function openings() {
  const open = () => {
    const place = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const closed = place && place.closest("details");
    if (closed) closed.open = true;
  };
  addEventListener("hashchange", open);
  open();
}

start();
