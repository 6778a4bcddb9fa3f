// The selected nodes as a file. Probabilities are fetched for them alone, a request for some thousand nodes.

const CHUNK = 4000;

/** A cell, quoted where it has to be. */
export function quote(text) {
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

async function probabilities(nodes, width, fetchBinary) {
  const all = new Float32Array(nodes.length * width);
  for (let start = 0; width && start < nodes.length; start += CHUNK) {
    const chunk = nodes.subarray(start, start + CHUNK);
    all.set(new Float32Array(await fetchBinary(`prob.bin?nodes=${chunk.join(",")}`)), start * width);
  }
  return all;
}

/** Text of the CSV, a row a node. */
export async function csv(nodes, { run, arrays, ids }, fetchBinary) {
  const name = (c) => (c < 0 ? "" : run.classes[c]);
  const columns = [
    ["id", (node) => ids[node]],
    ["class", (node) => name(arrays.class[node])],
  ];
  if (arrays.group) columns.push(["group", (node) => run.groups[arrays.group[node]] ?? ""]);
  if (arrays.part) columns.push(["part", (node) => run.parts[arrays.part[node]]]);
  if (arrays.before) {
    columns.push(["prediction_before", (node) => name(arrays.before[node])]);
    columns.push(["prediction_after", (node) => name(arrays.after[node])]);
  }
  const sides = arrays.before ? ["before", "after"] : [];
  const width = sides.length * run.width;
  const prob = await probabilities(nodes, width, fetchBinary);
  const heads = sides.flatMap((side) => run.classes.slice(0, run.width).map((c) => `probability_${side}_${c}`));
  const lines = [[...columns.map(([head]) => head), ...heads].map(quote).join(",")];
  nodes.forEach((node, row) => {
    const cells = columns.map(([, cell]) => quote(cell(node)));
    const own = Array.from(prob.subarray(row * width, (row + 1) * width), (value) =>
      String(Number(value.toPrecision(6))),
    );
    lines.push([...cells, ...own].join(","));
  });
  return `${lines.join("\r\n")}\r\n`;
}

export function download(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
