// Curves over training, drawn by uPlot: one line for each entry of a variable's dimensions, of the chosen block alone; over
// several seeds the median with a band from the lowest to the highest seed, and the single seeds of a curve when it is
// pointed at or focused. Heads may take other parts in other seeds, so theirs are the lines of the chosen seed, with thin
// ones for the others. Which variables there are, and what they are called, is in the page's data.

const MOST_LINES = 16;

// The lines of a variable: where each lies in the packed array, what it is called, how it is drawn.
function curveLines(study, name, most = MOST_LINES) {
  const dims = page.variables[name].dimensions.slice(1);
  const array = study.runs.map((run) => run.curves[name]).find(Boolean);
  if (!array || !array.shape[0]) return [];
  const lines = [];
  const walk = (axis, offset, place) => {
    if (axis === dims.length) { lines.push(describeLine(study, name, dims, offset, place)); return; }
    const size = array.shape[axis + 1];
    const stride = array.shape.slice(axis + 2).reduce((a, b) => a * b, 1);
    for (let n = 0; n < size; n++) {
      if (dims[axis] === "block" && n !== Math.min(state.block, size - 1)) continue;
      if (dims[axis] === "head" && n >= headsOf(study)) continue;
      walk(axis + 1, offset + n * stride, [...place, n]);
    }
  };
  walk(0, 0, []);
  return lines.length > most && !dims.includes("head") ? largest(lines, array) : lines;
}

// A legend of a hundred lines helps nobody: the lines that ever matter, in their own order. The CSV has all.
function largest(lines, array) {
  const size = (line) => { let top = 0; for (let i = line.offset; i < array.values.length; i += array.width) top = Math.max(top, Math.abs(array.values[i]) || 0); return top; };
  const sizes = new Map(lines.map((line) => [line, size(line)]));
  const kept = new Set([...lines].sort((a, b) => sizes.get(b) - sizes.get(a)).slice(0, MOST_LINES));
  const top = Math.max(...sizes.values());
  return lines.filter((line) => kept.has(line) && sizes.get(line) > 0.01 * top);
}

function describeLine(study, name, dims, offset, place) {
  const at = Object.fromEntries(dims.map((dim, axis) => [dim, place[axis]]));
  // The first dimension is the colour of a line and the second its dashes; the block is the same for all lines.
  const [first, second] = dims.filter((dim) => dim !== "block");
  const label = dims.filter((dim) => dim !== "block").map((dim) => (dim === "head" ? headLabel(study, at.head) : entryName(study, dim, at[dim]))).join(", ") || page.variables[name].label;
  const colour = first === undefined ? ink("single") : first === "head" ? headColour(at.head) : groupColour(at[first]);
  return { offset, label, colour, dash: second === undefined && first !== "head" ? loneDash(at[first] ?? 0) : groupDash(at[second ?? first]), head: at.head, group: at.group };
}

function entryName(study, dim, index) {
  const entry = study.coordinates[dim][index];
  return typeof entry === "number" ? `${page.dimensions[dim].title} ${entry}` : entry;
}

// Values of one line over the union of all runs' steps: each run, and lowest, median, highest.
function curveValues(study, name, line) {
  const runs = study.runs.filter((run) => run.curves[name]);
  const times = study.times;
  const each = runs.map((run) => {
    const { values, width } = run.curves[name];
    const own = new Map(run.steps.map((step, i) => [step, values[i * width + line.offset]]));
    return times.map((time) => { const v = own.get(time); return v === undefined || !Number.isFinite(v) ? null : v; });
  });
  if (each.length === 1) {
    const [low, high] = bandArrays(study, name).map(({ values, width }) => times.map((_, i) => { const v = values[i * width + line.offset]; return Number.isFinite(v) ? v : each[0][i]; }));
    return { each, runs, median: each[0], low: low || each[0], high: high || each[0] };
  }
  if (line.head !== undefined) {
    const chosen = Math.max(0, runs.indexOf(chosenRun(study))), none = times.map(() => null);
    return { each, runs, chosen, median: each[chosen], low: none, high: none };
  }
  const low = [], median = [], high = [];
  times.forEach((_, i) => {
    const sorted = each.map((values) => values[i]).filter((v) => v !== null).sort((a, b) => a - b);
    const middle = (sorted.length - 1) / 2;
    low.push(sorted.length ? sorted[0] : null);
    high.push(sorted.length ? sorted[sorted.length - 1] : null);
    median.push(sorted.length ? (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2 : null);
  });
  return { each, runs, low, median, high };
}

// The lower and the upper end of a variable's own noise, of a single run that has them; seeds make a band of their own.
function bandArrays(study, name) {
  const { band } = page.variables[name];
  if (!band || study.runs.length > 1) return [];
  const arrays = band.map((end) => study.runs[0].curves[end]);
  return arrays.every(Boolean) ? arrays : [];
}

function isBanded(study, name) { return study.runs.length > 1 || bandArrays(study, name).length > 0; }

function measuredVariables(spec) {
  const worthIt = (name) => spec.shown !== "if it varies" || studies.some((study) => study.runs.some((run) => varies(run.curves[name])));
  return spec.variables.filter(({ name }) => studies.some((study) => curveLines(study, name).length) && worthIt(name));
}

function allCurvePanels() {
  const specs = page.panels.filter((spec) => spec.kind === "curves");
  const measured = specs.map((spec) => [spec, measuredVariables(spec)]).filter(([, known]) => known.length);
  // Rows of three while that leaves no gap, then rows of two.
  const threes = [0, 3, 6].find((count) => (measured.length - count) % 2 === 0 && count <= measured.length) ?? 3;
  // Where only two fit beside each other, the third has a row of its own.
  const span = (n) => (measured.length === 1 ? "12" : n >= threes ? "6" : n % 3 === 2 ? "4 last-of-three" : "4");
  return measured.flatMap(([spec, known], n) => curvePanels(spec, known, span(n)));
}

function curvePanels(spec, known, span) {
  const shared = { spec, known, variable: known[0].name, hidden: new Set(), span };
  return studies.map((study) => curvePanel(shared, study));
}

function varies(array) {
  return Boolean(array) && array.values.some((v) => Number.isFinite(v) && v !== array.values[0]);
}

// One vertical axis for all studies, so that side by side means comparable.
function bounds({ variable }) {
  const [floor, ceiling] = page.variables[variable].limits;
  let low = floor ?? Infinity, high = ceiling ?? -Infinity;
  for (const study of studies) for (const run of study.runs) {
    const arrays = [run.curves[variable], ...bandArrays(study, variable)].filter(Boolean);
    for (const { values } of arrays) for (const v of values) if (Number.isFinite(v)) { if (v < low) low = v; if (v > high) high = v; }
  }
  if (!(high >= low)) return [0, 1];
  const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  return [floor === low ? low : low - room, ceiling === high ? high + 0.02 : high + room];
}

function curvePanel(shared, study) {
  const { spec } = shared;
  let plot = null, lines = [], values = [], highlighted = -1, hoverIndex = null;
  const box = h("div", { class: "plot" });
  const legend = h("div", { class: "legend" });
  const panel = makePanel({
    title: spec.title, about: spec.about, study, span: studies.length > 1 ? "study" : shared.span,
    table: () => {
      const all = curveLines(study, shared.variable, Infinity);
      const rows = [["seed", study.unit, ...all.map((line) => line.label)]];
      for (const run of study.runs) {
        const array = run.curves[shared.variable];
        if (array) run.steps.forEach((step, i) => rows.push([run.seed, step, ...all.map((line) => array.values[i * array.width + line.offset])]));
      }
      return rows;
    },
    image: (title) => curvePicture(title, shared, study, lines, values),
  });
  if (shared.known.length > 1) {
    const select = h("select", { class: "small", "aria-label": `Which ${spec.title}${studies.length > 1 ? `, ${study.label}` : ""}` }, ...shared.known.map(({ name, choice }) => h("option", { value: name }, choice)));
    select.addEventListener("change", () => { shared.variable = select.value; changed("axis"); });
    on("axis", () => { select.value = shared.variable; });
    panel.tools.prepend(select);
  }
  panel.body.append(box, legend);
  const cursor = h("div", { class: "cursor" });

  const isShown = (line, n) => !shared.hidden.has(n) && !state.hiddenHeads.has(line.head) && !state.hiddenGroups.has(line.group);
  const highlight = (n) => { if (highlighted !== n) { highlighted = n; if (plot && study.runs.length > 1) plot.redraw(false); } };
  const readoutIndex = () => hoverIndex ?? nearestIndex(study.times, clock.toStudy(study.index, state.time));

  const build = () => {
    if (plot) { plot.destroy(); plot = null; }
    panel.explain(page.variables[shared.variable].about);
    lines = curveLines(study, shared.variable);
    values = lines.map((line) => curveValues(study, shared.variable, line));
    if (!lines.length) { box.replaceChildren(h("p", { class: "notice" }, "not measured in this run")); legend.replaceChildren(); return; }
    const width = box.clientWidth || 300;
    box.replaceChildren();
    const options = curveOptions(shared, study, lines, values, { width, height: 220, scale: 1, highlighted: () => highlighted, isShown });
    options.hooks.setCursor = [(u) => {
      hoverIndex = u.cursor.left >= 0 ? u.cursor.idx : null;
      if (study.runs.length > 1) highlight(hoverIndex === null ? -1 : nearestLine(u));
      showValues();
    }];
    plot = new uPlot(options, curveData(study, values, shared.variable), box);
    plot.over.append(cursor);
    scrubbing(plot.over, (share) => clock.toMain(study.index, plot.posToVal(share * plot.over.clientWidth, "x")));
    plot.root.setAttribute("role", "img");
    plot.root.setAttribute("aria-label", `${spec.title} over training${studies.length > 1 ? `, ${study.label}` : ""}: ${lines.length} curve${lines.length > 1 ? "s" : ""}; values at the current ${study.unit} are below`);
    buildLegend();
  };
  const nearestLine = (u) => {
    let best = -1, distance = 40;
    lines.forEach((line, n) => {
      const v = isShown(line, n) ? values[n].median[u.cursor.idx] : null;
      const off = v === null || v === undefined ? Infinity : Math.abs(u.valToPos(v, "y") - u.cursor.top);
      if (off < distance) { distance = off; best = n; }
    });
    return best;
  };

  let cells = [];
  const buildLegend = () => {
    const matrix = lines.every((line) => line.head !== undefined && line.group !== undefined);
    cells = lines.map(() => h("span", { class: "value" }));
    legend.replaceChildren(matrix ? legendMatrix() : h("ul", {}, ...lines.map((line, n) => h("li", {}, legendButton(line, n)))));
  };
  const watch = (element, n) => {
    for (const kind of ["pointerenter", "focus"]) element.addEventListener(kind, () => highlight(n));
    for (const kind of ["pointerleave", "blur"]) element.addEventListener(kind, () => highlight(-1));
    return element;
  };
  const legendButton = (line, n) => watch(h("button", {
    type: "button", class: "key", "aria-pressed": String(isShown(line, n)), title: "Show or hide",
    onclick: () => {
      const [set, item] = line.head !== undefined ? [state.hiddenHeads, line.head] : [shared.hidden, n];
      if (set.has(item)) set.delete(item); else set.add(item);
      changed("view");
    },
  }, lineSample(line.colour, line.dash), h("span", {}, line.label), cells[n]), n);
  const legendMatrix = () => {
    const heads = [...new Set(lines.map((line) => line.head))], groups = [...new Set(lines.map((line) => line.group))];
    const toggle = (set, item, sample, text) => h("button", {
      type: "button", class: "key", "aria-pressed": String(!set.has(item)), title: "Show or hide",
      onclick: () => { if (set.has(item)) set.delete(item); else set.add(item); changed("view"); },
    }, sample, text);
    return h("table", { class: "matrix" },
      h("thead", {}, h("tr", {}, h("td", {}), ...groups.map((g) => h("th", { scope: "col" }, toggle(state.hiddenGroups, g, lineSample(ink("text"), groupDash(g)), study.coordinates.group[g]))))),
      h("tbody", {}, ...heads.map((head) => h("tr", {}, h("th", { scope: "row" }, toggle(state.hiddenHeads, head, swatch(headColour(head)), headLabel(study, head))),
        ...groups.map((g) => { const n = lines.findIndex((line) => line.head === head && line.group === g); return watch(h("td", {}, n < 0 ? "" : cells[n]), n); })))));
  };
  const showValues = () => {
    const i = readoutIndex();
    lines.forEach((line, n) => {
      const text = shown(values[n].median[i]);
      if (cells[n].textContent !== text) cells[n].textContent = text;
    });
  };

  on("axis", build);
  on("view", () => {
    if (!plot) return;
    if (lines.some((line) => line.head !== undefined)) {
      // Another block or seed order may mean other data under the same lines.
      lines = curveLines(study, shared.variable);
      values = lines.map((line) => curveValues(study, shared.variable, line));
      plot.setData(curveData(study, values, shared.variable), false);
    }
    plot.redraw(true);
    const focused = document.activeElement, keys = [...legend.querySelectorAll("button")], place = keys.indexOf(focused);
    buildLegend();
    if (place >= 0) legend.querySelectorAll("button")[place].focus();
  });
  on("moment", () => {
    if (!plot) return;
    cursor.style.left = `${plot.valToPos(clock.toStudy(study.index, state.time), "x")}px`;
    if (hoverIndex === null) showValues();
  });
  let before = 0;
  new ResizeObserver(() => {
    const width = box.clientWidth;
    if (plot && width && width !== before) { before = width; plot.setSize({ width, height: 220 }); cursor.style.left = `${plot.valToPos(clock.toStudy(study.index, state.time), "x")}px`; }
  }).observe(box);
  return panel.root;
}

function curveData(study, values, name) {
  const columns = isBanded(study, name) ? values.flatMap(({ high, low, median }) => [high, low, median]) : values.map(({ median }) => median);
  return [study.times, ...columns];
}

function curveOptions(shared, study, lines, values, { width, height, scale, highlighted, isShown }) {
  const several = isBanded(study, shared.variable), { unit } = page.variables[shared.variable];
  const font = `${11 * scale}px ${FONT}`;
  const [first, last] = clock.studyRange(study.index);
  const stroke = (line, n) => () => (isShown(line, n) ? line.colour : "transparent");
  const fill = (line, n) => () => (isShown(line, n) ? line.colour + (isDark() ? "38" : "2b") : "transparent");
  const heads = Math.max(0, ...lines.map((line) => line.head ?? 0)) + 1;
  // Heads that do the same lie on each other: each is narrower than those below it, so that all their colours are seen.
  const thickness = (line) => (line.head === undefined || heads < 2 ? 1.8 : 1.2 + Math.min(1.1, 3.6 / (heads - 1)) * (heads - 1 - line.head));
  const main = (line, n) => ({ label: line.label, stroke: stroke(line, n), width: thickness(line) * scale, dash: line.dash.map((d) => d * scale), points: { show: values[n].median.filter((v) => v !== null).length < 2, size: 7 * scale, fill: stroke(line, n) }, spanGaps: true });
  const bare = { stroke: "transparent", width: 0, points: { show: false } };
  const axis = { stroke: ink("soft"), font, grid: { stroke: ink("grid"), width: scale }, ticks: { stroke: ink("grid"), width: scale, size: 5 * scale }, gap: 4 * scale };
  return {
    width, height, padding: [10 * scale, 14 * scale, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { show: false } },
    scales: {
      x: { time: false, ...(state.scale === "log" ? { distr: 4, asinh: clock.threshold(study.index) } : {}), range: () => (last > first ? [first, last] : [first - 1, first + 1]) },
      y: { range: () => bounds(shared) },
    },
    axes: [
      { ...axis, size: 30 * scale, splits: (u) => timeTicks(u.scales.x.min, u.scales.x.max, clock.threshold(study.index), width / scale), values: (u, ticks) => ticks.map(shownTime), filter: (u, ticks) => ticks },
      { ...axis, size: 48 * scale, splits: (u) => niceTicks(u.scales.y.min, u.scales.y.max, 5), values: (u, ticks) => ticks.map((tick) => String(tick).replace("-", "−")), label: unit || undefined, labelFont: font, labelSize: unit ? 16 * scale : 0, labelGap: 0 },
    ],
    series: [{}, ...(several ? lines.flatMap((line, n) => [bare, bare, main(line, n)]) : lines.map(main))],
    bands: several ? lines.map((line, n) => ({ series: [3 * n + 1, 3 * n + 2], fill: fill(line, n) })) : [],
    hooks: { drawClear: [(u) => shadePhases(u, study, scale)], drawAxes: [(u) => lines.forEach((line, n) => { if (isShown(line, n)) drawOtherSeeds(u, study, line, values[n], scale); })], draw: [(u) => drawSeeds(u, study, lines[highlighted()], values[highlighted()], scale)] },
  };
}

function shadePhases(u, study, scale) {
  const { competitive, offshoots } = chosenRun(study).events;
  const { left, top, width, height } = u.bbox;
  const x = (time) => Math.min(left + width, Math.max(left, u.valToPos(time, "x", true)));
  u.ctx.save();
  if (competitive) {
    u.ctx.fillStyle = ink("competitive-wash");
    u.ctx.fillRect(x(competitive[0]), top, x(competitive[1]) - x(competitive[0]), height);
  }
  u.ctx.strokeStyle = ink("event");
  u.ctx.lineWidth = scale * (window.devicePixelRatio || 1);
  u.ctx.setLineDash([3, 3]);
  for (const { step } of offshoots) {
    u.ctx.beginPath(); u.ctx.moveTo(x(step), top); u.ctx.lineTo(x(step), top + height); u.ctx.stroke();
  }
  u.ctx.restore();
  drawInterventions(u, interventions(study), ink("text"), scale);
}

// What a head's part is in the other seeds, thin and pale under the chosen one.
function drawOtherSeeds(u, study, line, value, scale) {
  if (value.chosen === undefined) return;
  u.ctx.save();
  u.ctx.strokeStyle = line.colour;
  u.ctx.globalAlpha = 0.6;
  u.ctx.lineWidth = 0.8 * scale * (window.devicePixelRatio || 1);
  u.ctx.setLineDash(line.dash.map((d) => d * scale));
  value.each.forEach((values, n) => { if (n !== value.chosen) { tracePath(u, study, values); u.ctx.stroke(); } });
  u.ctx.restore();
}

function tracePath(u, study, values) {
  let open = false;
  u.ctx.beginPath();
  values.forEach((v, i) => {
    if (v === null) return;
    const x = u.valToPos(study.times[i], "x", true), y = u.valToPos(v, "y", true);
    if (open) u.ctx.lineTo(x, y); else u.ctx.moveTo(x, y);
    open = true;
  });
}

function drawSeeds(u, study, line, value, scale) {
  if (!line || study.runs.length < 2) return;
  const ratio = window.devicePixelRatio || 1;
  u.ctx.save();
  u.ctx.strokeStyle = line.colour;
  u.ctx.lineWidth = scale * ratio;
  u.ctx.font = `${10 * scale * ratio}px ${FONT}`;
  u.ctx.fillStyle = ink("text");
  u.ctx.textBaseline = "middle";
  value.each.forEach((values, n) => {
    tracePath(u, study, values);
    u.ctx.stroke();
    // Labels spread along the lines, where the seeds part.
    const i = Math.round(((n + 1) / (value.each.length + 1)) * (values.length - 1));
    if (values[i] !== null) u.ctx.fillText(value.runs[n].label, u.valToPos(study.times[i], "x", true) + 3, u.valToPos(values[i], "y", true) - 7 * ratio);
  });
  u.ctx.restore();
}

function curvePicture(title, shared, study, lines, values) {
  const scale = PICTURE_SCALE / (window.devicePixelRatio || 1);
  const holder = h("div", { class: "offstage", "aria-hidden": "true" });
  document.body.append(holder);
  const isShown = (line, n) => !shared.hidden.has(n) && !state.hiddenHeads.has(line.head) && !state.hiddenGroups.has(line.group);
  const plot = new uPlot(curveOptions(shared, study, lines, values, { width: 640 * scale, height: 320 * scale, scale, highlighted: () => -1, isShown }), curveData(study, values, shared.variable), holder);
  const visible = lines.filter(isShown);
  const columns = Math.min(4, Math.max(1, visible.length)), below = 18 * Math.ceil(visible.length / columns) + 10;
  return new Promise((resolve) => requestAnimationFrame(() => {
    const canvas = picture(title, 640, 320 + below, (context) => {
      context.drawImage(plot.ctx.canvas, 0, 0, 640, 320);
      visible.forEach((line, n) => {
        const x = 20 + (n % columns) * (600 / columns), y = 332 + 18 * Math.floor(n / columns);
        context.strokeStyle = line.colour;
        context.lineWidth = 2;
        context.setLineDash(line.dash);
        context.beginPath(); context.moveTo(x, y); context.lineTo(x + 26, y); context.stroke();
        context.setLineDash([]);
        context.fillStyle = ink("text");
        context.font = `12px ${FONT}`;
        context.textAlign = "left";
        context.fillText(line.label, x + 32, y, 600 / columns - 40);
      });
    });
    plot.destroy();
    holder.remove();
    resolve(canvas);
  }));
}
