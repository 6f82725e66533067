// What the reader has chosen, who wants to know, and the address bar, which holds it so that a link or a reload
// comes back to the same place.

const state = {
  time: 0, scale: "linear", align: null, block: 0, playing: false,
  hiddenHeads: new Set(), hiddenGroups: new Set(), seeds: [],
};
// moment: the time moved. view: another block, seed, head or group. axis: another time axis or theme; charts start over.
const listeners = { moment: [], view: [], axis: [] };
const pending = new Set();
const order = { axis: ["axis", "view", "moment"], view: ["view", "moment"], moment: ["moment"] };

function on(kind, listener) { listeners[kind].push(listener); }

function changed(kind) {
  if (!pending.size) requestAnimationFrame(redraw);
  pending.add(kind);
}

function redraw() {
  const kinds = order[pending.has("axis") ? "axis" : pending.has("view") ? "view" : "moment"];
  pending.clear();
  for (const kind of kinds) for (const listener of listeners[kind]) listener();
  rememberPlace();
}

let placeTimer = 0;
function rememberPlace() {
  clearTimeout(placeTimer);
  placeTimer = setTimeout(() => {
    const words = new URLSearchParams();
    words.set("t", String(state.time));
    words.set("scale", state.scale);
    if (state.align) words.set("align", state.align);
    if (state.block) words.set("block", String(state.block + 1));
    if (state.seeds.some((seed) => seed)) words.set("seeds", state.seeds.join("."));
    try { history.replaceState(null, "", `#${words}`); } catch { /* some viewers forbid it; nothing is lost but the link */ }
  }, 300);
}

function recallPlace(studies) {
  const words = new URLSearchParams(location.hash.slice(1));
  state.scale = ["linear", "log"].includes(words.get("scale")) ? words.get("scale") : studies[0].unit === "time" ? "log" : "linear";
  if (["step", "share", "stage"].includes(words.get("align"))) state.align = words.get("align");
  const block = Number(words.get("block")) - 1;
  if (Number.isInteger(block) && block > 0 && block < Math.max(...studies.map((study) => study.blocks))) state.block = block;
  (words.get("seeds") || "").split(".").forEach((seed, i) => {
    if (studies[i] && Number(seed) > 0 && Number(seed) < studies[i].runs.length) state.seeds[i] = Number(seed);
  });
  const time = Number(words.get("t"));
  return words.has("t") && Number.isFinite(time) ? time : null;
}
