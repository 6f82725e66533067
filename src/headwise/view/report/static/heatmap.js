// Attention maps: each head in its colour, alone or all on one map, with the cells of each true group outlined. On the
// common map a cell is divided among the heads, each as wide as its part of the attention there and as strong as its own
// share: heads that look at the same cell stand side by side in it instead of mixing to a colour that says nothing. Values
// are those of the nearest stored snapshot, and the panel says which that is.

const MAP_EDGE = { left: 34, top: 18, right: 2, bottom: 34 };
const STRIPES = 12;

function currentMaps(study) {
  const run = chosenRun(study);
  if (!run.maps) return null;
  const { shape, values, width } = run.maps[mapVariable()];
  const [, blocks, heads, queries, keys] = shape;
  const i = nearestIndex(run.mapSteps, clock.toStudy(study.index, state.time));
  const block = Math.min(state.block, blocks - 1);
  const start = i * width + block * heads * queries * keys;
  const size = queries * keys;
  return { step: run.mapSteps[i], heads, queries, keys, head: (k) => values.subarray(start + k * size, start + (k + 1) * size) };
}

// The share at which a colour is full: constant over the run, so that heads are seen to make up their minds.
function fullShare(study) {
  const run = chosenRun(study);
  if (!run.maps) return 1;
  run.full = run.full || {};
  if (!run.full[state.block]) {
    const { shape, values, width } = run.maps[mapVariable()];
    const size = shape[2] * shape[3] * shape[4];
    let top = 0;
    for (let n = 0; n < 8; n++) {
      const i = Math.round((n / 7) * (shape[0] - 1));
      const start = i * width + Math.min(state.block, shape[1] - 1) * size;
      const sorted = Float32Array.from(values.subarray(start, start + size)).filter((v) => v > 0).sort();
      if (sorted.length) top = Math.max(top, sorted[Math.floor(0.98 * (sorted.length - 1))]);
    }
    run.full[state.block] = top || 1;
  }
  return run.full[state.block];
}

function isAhead(study, q, k) {
  return study.causal && study.keys[k] > study.queries[q];
}

// Edges of the cells of each group, in cells: computed once a study.
function groupOutlines(study) {
  if (study.outlines) return study.outlines;
  study.outlines = (study.groups || []).map((lags) => {
    const inside = (q, k) => q >= 0 && k >= 0 && q < study.queries.length && k < study.keys.length && lags.includes(study.queries[q] + 1 - study.keys[k]);
    const edges = [];
    for (let q = 0; q < study.queries.length; q++) for (let k = 0; k < study.keys.length; k++) {
      if (!inside(q, k)) continue;
      if (!inside(q, k - 1)) edges.push([k, q, k, q + 1]);
      if (!inside(q, k + 1)) edges.push([k + 1, q, k + 1, q + 1]);
      if (!inside(q - 1, k)) edges.push([k, q, k + 1, q]);
      if (!inside(q + 1, k)) edges.push([k, q + 1, k + 1, q + 1]);
    }
    return edges;
  });
  return study.outlines;
}

// One canvas pixel per cell (or stripe of one), kept for each size: making them anew would cost more than filling them.
const cellImages = new Map();

function cellImage(width, height) {
  const name = `${width}x${height}`;
  if (!cellImages.has(name)) {
    if (cellImages.size > 16) cellImages.clear();
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d");
    cellImages.set(name, { canvas, context, image: context.createImageData(width, height) });
  }
  return cellImages.get(name);
}

// The cells of some heads into a box; `full` is the share at which a colour is full.
function drawCells(context, box, { queries, keys, head }, heads, full, ahead) {
  const base = rgb(ink("map")), beyond = rgb(ink("ahead"));
  const layers = heads.map((k) => ({ values: head(k), tint: rgb(headColour(k)).map((c, i) => c - base[i]) }));
  const stripes = layers.length > 1 ? STRIPES : 1;
  const { canvas: cells, context: small, image } = cellImage(keys * stripes, queries);
  for (let q = 0, p = 0; q < queries; q++) for (let k = 0; k < keys; k++) {
    const back = ahead(q, k) ? beyond : base;
    let sum = 0, n = 0, reach = 0;
    for (const { values } of layers) sum += values[q * keys + k];
    for (let stripe = 0; stripe < stripes; stripe++, p += 4) {
      while (n < layers.length - 1 && reach + layers[n].values[q * keys + k] < ((stripe + 0.5) / stripes) * sum) reach += layers[n++].values[q * keys + k];
      const a = layers.length ? Math.min(1, layers[n].values[q * keys + k] / full) : 0;
      for (let c = 0; c < 3; c++) image.data[p + c] = back[c] + (a ? a * layers[n].tint[c] : 0);
      image.data[p + 3] = 255;
    }
  }
  small.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(cells, ...box);
}

// Cells of a map by pointer and by arrow keys: `pick` is given [query, key], or null when none is meant any more.
function pickingCells(canvas, edgeOf, sizes, cellNow, pick, readout) {
  canvas.tabIndex = 0;
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect(), edge = edgeOf(), [queries, keys] = sizes();
    const k = Math.floor(((event.clientX - box.left - edge.left) / (box.width - edge.left - edge.right)) * keys);
    const q = Math.floor(((event.clientY - box.top - edge.top) / (box.height - edge.top - edge.bottom)) * queries);
    pick(q >= 0 && k >= 0 && q < queries && k < keys ? [q, k] : null);
  });
  canvas.addEventListener("pointerleave", () => pick(null));
  canvas.addEventListener("focus", () => readout.setAttribute("aria-live", "polite"));
  canvas.addEventListener("blur", () => { readout.removeAttribute("aria-live"); pick(null); });
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (event.key === "Escape") pick(null);
    if (!move) return;
    event.preventDefault();
    const [queries, keys] = sizes(), now = cellNow(), clamp = (v, n) => Math.min(n - 1, Math.max(0, v));
    pick(now ? [clamp(now[0] + move[0], queries), clamp(now[1] + move[1], keys)] : [queries - 1, keys - 1]);
  });
}

function drawMap(context, width, height, study, heads, cell, axes) {
  const maps = currentMaps(study);
  if (!maps) return;
  const edge = axes ? MAP_EDGE : { left: 1, top: 1, right: 1, bottom: 1 };
  const w = width - edge.left - edge.right, hgt = height - edge.top - edge.bottom;
  const { queries, keys } = maps;
  drawCells(context, [edge.left, edge.top, w, hgt], maps, heads, fullShare(study), (q, k) => isAhead(study, q, k));
  const x = (k) => edge.left + (k / keys) * w, y = (q) => edge.top + (q / queries) * hgt;
  groupOutlines(study).forEach((edges, g) => {
    if (state.hiddenGroups.has(g)) return;
    context.strokeStyle = groupColour(g);
    context.lineWidth = axes ? 1.8 : 1;
    context.beginPath();
    for (const [k0, q0, k1, q1] of edges) { context.moveTo(x(k0), y(q0)); context.lineTo(x(k1), y(q1)); }
    context.stroke();
    const first = study.groups[g].map((lag) => study.keys.indexOf(study.queries[0] + 1 - lag)).filter((k) => k >= 0);
    if (!axes || !first.length || (first.length * w) / keys < 20) return;
    context.fillStyle = ink("text");
    context.font = `600 11px ${FONT}`;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(study.groupNames[g], x((Math.min(...first) + Math.max(...first) + 1) / 2), edge.top - 3);
  });
  context.strokeStyle = ink("line");
  context.lineWidth = 1;
  context.strokeRect(edge.left - 0.5, edge.top - 0.5, w + 1, hgt + 1);
  if (cell) {
    context.strokeStyle = ink("text");
    context.lineWidth = 2;
    context.strokeRect(x(cell[1]), y(cell[0]), w / keys, hgt / queries);
  }
  if (axes) drawMapAxes(context, study, { edge, w, hgt, queries, keys, width, height });
}

function drawMapAxes(context, study, { edge, w, hgt, queries, keys, height }) {
  context.fillStyle = ink("soft");
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const every = (count, room) => Math.max(1, Math.ceil(count / Math.max(2, room / 26)));
  for (let q = 0; q < queries; q += every(queries, hgt)) context.fillText(study.queries[q], edge.left - 5, edge.top + ((q + 0.5) / queries) * hgt);
  context.textAlign = "center";
  for (let k = 0; k < keys; k += every(keys, w)) context.fillText(study.keys[k], edge.left + ((k + 0.5) / keys) * w, edge.top + hgt + 10);
  context.fillText(page.dimensions.key.title, edge.left + w / 2, height - 8);
  context.save();
  context.translate(7, edge.top + hgt / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(page.dimensions.query.title, 0, 0);
  context.restore();
}

function shownHeads(study) {
  return Array.from({ length: study.heads }, (_, k) => k).filter((k) => !isHidden(study, k));
}

function mapTable(study) {
  const maps = currentMaps(study);
  const rows = [[study.unit, "block", "head", "query", "key", "lag", "attention"]];
  if (!maps) return rows;
  for (let head = 0; head < maps.heads; head++) {
    const values = maps.head(head);
    for (let q = 0, i = 0; q < maps.queries; q++) for (let k = 0; k < maps.keys; k++, i++) {
      rows.push([maps.step, state.block + 1, head + 1, study.queries[q], study.keys[k], study.queries[q] + 1 - study.keys[k], values[i]]);
    }
  }
  return rows;
}

function snapshotText(study) {
  const maps = currentMaps(study);
  if (!maps) return "unpacking…";
  const time = clock.toStudy(study.index, state.time);
  const same = Math.abs(maps.step - time) < 1e-6 * Math.max(1, Math.abs(time));
  return same ? `${study.unit} ${shownTime(maps.step)}` : `nearest snapshot: ${study.unit} ${shownTime(maps.step)}`;
}

function overlayPanel(study, span, spec) {
  let cell = null;
  const square = (room) => Math.round(Math.min(room * (study.queries.length / study.keys.length), 460) + 10);
  const panel = makePanel({
    ...headingOf(spec), study, span, table: () => mapTable(study),
    image: (title, now) => picture(`${title}, ${now}`, 480, 440, (context, w, hgt) => drawMap(context, w, hgt, study, shownHeads(study), null, true)),
  });
  const stamp = h("p", { class: "stamp" });
  const readout = h("p", { class: "readout" });
  const view = makeCanvas("", square, (context, w, hgt) => drawMap(context, w, hgt, study, shownHeads(study), cell, true));
  const showCell = () => {
    const maps = currentMaps(study);
    stamp.textContent = snapshotText(study);
    view.canvas.setAttribute("aria-label", `Attention map of all heads overlaid, ${snapshotText(study)}. Arrow keys read single cells.`);
    if (!cell || !maps) {
      readout.textContent = maps ? `Full colour is a share of ${shown(fullShare(study))}. Point at a cell, or use the arrow keys on the map.` : "";
      return;
    }
    const [q, k] = cell;
    const lag = study.queries[q] + 1 - study.keys[k];
    const groups = (study.groups || []).map((lags, g) => (lags.includes(lag) ? study.groupNames[g] : null)).filter(Boolean);
    const shares = shownHeads(study).map((head) => `${headLabel(study, head)} ${shown(maps.head(head)[q * maps.keys + k])}`);
    readout.textContent = `query ${study.queries[q]}, key ${study.keys[k]}, lag ${lag}${groups.length ? ` in ${groups.join(", ")}` : ""}: ${shares.join(", ")}`;
  };
  const pick = (next) => { cell = next; view.paint(); showCell(); };
  pickingCells(view.canvas, () => MAP_EDGE, () => [study.queries.length, study.keys.length], () => cell, pick, readout);
  panel.body.append(stamp, view.canvas, readout);
  on("moment", () => { view.paint(); showCell(); });
  return panel.root;
}

function patternAt(study, head, time) {
  const found = copiedBy(study, head).find(({ start, end }) => time >= start && time <= end);
  return found ? found.pattern : null;
}

function singlesPanel(study, span, spec) {
  const panel = makePanel({
    ...headingOf(spec), study, span, table: () => mapTable(study),
    image: (title, now) => {
      const heads = shownHeads(study), columns = Math.min(4, Math.max(1, heads.length)), rows = Math.ceil(heads.length / columns);
      return picture(`${title}, ${now}`, 220 * columns, 220 * rows, (context) => heads.forEach((head, n) => {
        context.save();
        context.translate((n % columns) * 220 + 10, Math.floor(n / columns) * 220 + 4);
        context.fillStyle = ink("text");
        context.font = `12px ${FONT}`;
        context.textAlign = "left";
        context.fillText(headLabel(study, head), 2, 8);
        context.translate(0, 18);
        drawMap(context, 200, 190, study, [head], null, false);
        context.restore();
      }));
    },
  });
  const grid = h("div", { class: "singles" });
  panel.body.append(grid);
  const views = Array.from({ length: study.heads }, (_, head) => {
    const view = makeCanvas("", (room) => Math.round(room * (study.queries.length / study.keys.length)), (context, w, hgt) => drawMap(context, w, hgt, study, [head], null, false));
    const caption = h("figcaption", {});
    const figure = h("figure", {}, view.canvas, caption);
    grid.append(figure);
    return { head, view, caption, figure };
  });
  if (study.heads > 4) grid.classList.add("many");
  on("moment", () => {
    const time = clock.toStudy(study.index, state.time);
    for (const { head, view, caption, figure } of views) {
      figure.hidden = isHidden(study, head);
      if (figure.hidden) continue;
      view.paint();
      const label = patternAt(study, head, time);
      const text = `${headLabel(study, head)}${label === null ? "" : ` copies ${patternName(label)}`}`;
      const look = `${text} ${headColour(head)}`;
      if (caption.dataset.look !== look) {
        caption.dataset.look = look;
        caption.replaceChildren(swatch(headColour(head)), text);
      }
      view.canvas.setAttribute("aria-label", `Attention map of ${text}, ${snapshotText(study)}`);
    }
  });
  return panel.root;
}
