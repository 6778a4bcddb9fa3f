// What the server has, fetched beside this file so that the address carries the token.

const KINDS = { f4: Float32Array, i4: Int32Array, i1: Int8Array, u1: Uint8Array };
const ENDED = "The explorer has ended: start bes explore again.";

export async function get(name, as) {
  const answer = await fetch(new URL(name, import.meta.url)).catch(() => {
    throw new Error(ENDED);
  });
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`);
  return answer[as]();
}

/** The run's description, and its columns as typed arrays. */
export async function load() {
  const run = await get("run.json", "json");
  const names = Object.keys(run.arrays);
  const loaded = await Promise.all(names.map((name) => get(`arrays/${name}.bin`, "arrayBuffer")));
  const arrays = Object.fromEntries(names.map((name, i) => [name, new KINDS[run.arrays[name]](loaded[i])]));
  run.labels = run.named ? run.classes : run.classes.map((name) => `Class ${name}`);
  return { run, arrays };
}

/** What each node is called. */
export async function loadIds(run) {
  return (await get("ids.json", "json")) ?? Array.from({ length: run.nodes }, (_, i) => String(i));
}
