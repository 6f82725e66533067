// A run and its branches on one time axis: one curve each above, and below it how far each branch is from its run, at the
// steps that both have measured. Dashed upright lines are the moments at which something was done.

const BRANCHES = "Run and branches";

// Branches whose run is on the page too, each with that run.
function branchPairs() {
  return studies.filter((study) => study.branch && study.branch.parent !== null).map((study) => ({ study, parent: studies[study.branch.parent] }));
}

function interventionText(study) {
  return `${study.branch.actions.join(", ") || "another config"} from ${study.unit} ${shownTime(study.branch.step)} on`;
}

// The moments at which something was done to a study, or to a branch of it.
function interventions(study) {
  return [...new Set(studies.filter((one) => one.branch && (one === study || one.branch.parent === study.index)).map((one) => one.branch.step))];
}

function drawInterventions(u, steps, colour, scale) {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.strokeStyle = colour;
  u.ctx.lineWidth = 1.5 * scale * (window.devicePixelRatio || 1);
  u.ctx.setLineDash([6, 4]);
  for (const step of steps) {
    const x = u.valToPos(step, "x", true);
    if (x < left || x > left + width) continue;
    u.ctx.beginPath(); u.ctx.moveTo(x, top); u.ctx.lineTo(x, top + height); u.ctx.stroke();
  }
  u.ctx.restore();
}

// One curve of a run by step. Heads stand in the order of their roles, which may differ from run to run, so the head is
// found by its own number: that of `line` in `model`.
function branchCurve(run, name, line, model) {
  const array = run.curves[name], at = new Map();
  if (!array) return at;
  let offset = line.offset;
  if (line.head !== undefined && run !== model) {
    const block = Math.min(state.block, run.roles.length - 1);
    const own = model.roles[block][line.head], place = run.roles[block].indexOf(own);
    offset += (place - line.head) * line.headStride;
  }
  run.steps.forEach((step, i) => { const v = array.values[i * array.width + offset]; if (Number.isFinite(v)) at.set(step, v); });
  return at;
}

function middle(values) {
  const sorted = values.filter((v) => v !== undefined && v !== null).sort((a, b) => a - b), half = (sorted.length - 1) / 2;
  return sorted.length ? (sorted[Math.floor(half)] + sorted[Math.ceil(half)]) / 2 : null;
}

function branchesPanel() {
  const pairs = branchPairs();
  if (!pairs.length) return null;
  const shownStudies = [...new Set([...pairs.map(({ parent }) => parent), ...pairs.map(({ study }) => study)])];
  const base = pairs[0].parent;
  const known = page.panels.filter((spec) => spec.kind === "curves").flatMap((spec) => spec.variables.map(({ name }) => name))
    .filter((name, i, all) => all.indexOf(name) === i && shownStudies.every((study) => study.runs.some((run) => run.curves[name])) && curveLines(base, name, Infinity).length);
  if (!known.length) return null;
  const shared = { variable: known.includes("excess_loss") ? "excess_loss" : known[0], entry: 0, hidden: new Set() };
  const colourOf = (study) => (study === base ? ink("single") : groupColour(shownStudies.indexOf(study) - 1));
  const boxes = [h("div", { class: "plot" }), h("div", { class: "plot" })], legend = h("div", { class: "legend" });
  const cursors = boxes.map(() => h("div", { class: "cursor" }));
  let plots = [], drawn = null, cells = [];

  const read = () => {
    const { variable } = shared, dims = page.variables[variable].dimensions.slice(1);
    const lines = curveLines(base, variable, Infinity), line = { ...lines[Math.min(shared.entry, lines.length - 1)] };
    const { shape } = base.runs.map((run) => run.curves[variable]).find(Boolean);
    line.headStride = dims.includes("head") ? shape.slice(dims.indexOf("head") + 2).reduce((a, b) => a * b, 1) : 0;
    const model = chosenRun(base);
    const curve = (run) => branchCurve(run, variable, line, model);
    const times = [...new Set(shownStudies.flatMap((study) => study.times))].sort((a, b) => a - b);
    // A head of one seed is not that of another: its curve is that of the chosen seed, others are the median of seeds.
    const runsOf = (study) => (line.head === undefined ? study.runs : [chosenRun(study)]);
    const values = shownStudies.map((study) => { const each = runsOf(study).map(curve); return times.map((time) => middle(each.map((one) => one.get(time)))); });
    const gaps = pairs.map(({ study, parent }) => {
      const each = runsOf(study).map((run) => [curve(run), parent.runs.find((other) => other.seed === run.seed)]).filter(([, other]) => other).map(([mine, other]) => [mine, curve(other)]);
      return times.map((time) => middle(each.map(([mine, its]) => (mine.has(time) && its.has(time) ? mine.get(time) - its.get(time) : null))));
    });
    return { lines, line, times, values, gaps };
  };

  const panel = makePanel({
    title: BRANCHES, about: "Above, the run and its branches; below, each branch minus its run at the steps that both have measured. A dashed upright line is the moment at which something was done.", span: "all",
    table: () => {
      const { times, values, gaps, line } = drawn;
      const rows = [[base.unit, ...shownStudies.map((study) => `${study.label}: ${line.label}`), ...pairs.map(({ study }) => `${study.label} minus its run: ${line.label}`)]];
      times.forEach((time, i) => rows.push([time, ...values.map((one) => one[i]), ...gaps.map((one) => one[i])]));
      return rows;
    },
    image: (title) => Promise.resolve(picture(title, 640, 460, (context) => plots.forEach((plot, n) => context.drawImage(plot.ctx.canvas, 0, 230 * n, 640, 220)))),
  });
  const which = h("select", { class: "small", "aria-label": "Which variable of the run and its branches" }, ...known.map((name) => h("option", { value: name }, page.variables[name].title)));
  const entry = h("select", { class: "small", "aria-label": "Which curve of the run and its branches" });
  which.value = shared.variable;
  which.addEventListener("change", () => { shared.variable = which.value; shared.entry = 0; changed("axis"); });
  entry.addEventListener("change", () => { shared.entry = Number(entry.value); changed("axis"); });
  panel.tools.prepend(which, entry);
  panel.body.append(h("div", { class: "branches" }, ...boxes.map((box, n) => h("div", {}, h("h4", {}, n ? "Branch minus run" : "Run and branches"), box))), legend);

  const build = () => {
    plots.forEach((plot) => plot.destroy());
    drawn = read();
    entry.replaceChildren(...drawn.lines.map((line, n) => h("option", { value: String(n) }, line.label)));
    entry.value = String(drawn.lines.findIndex((line) => line.offset === drawn.line.offset));
    entry.hidden = drawn.lines.length < 2;
    const pseudo = { ...base, times: drawn.times, runs: [chosenRun(base)] };
    const charts = [[shownStudies, drawn.values], [pairs.map(({ study }) => study), drawn.gaps]];
    plots = charts.map(([of, columns], n) => {
      const lines = of.map((study) => ({ label: study.label, colour: colourOf(study), dash: [] }));
      const values = columns.map((median) => ({ median, low: median, high: median, each: [median] }));
      boxes[n].replaceChildren();
      const options = curveOptions(shared, pseudo, lines, values, { width: boxes[n].clientWidth || 300, height: 220, scale: 1, highlighted: () => -1, isShown: () => true });
      options.scales.x.range = () => [drawn.times[0], drawn.times[drawn.times.length - 1]];
      if (n) options.scales.y.range = () => gapBounds(columns);
      options.hooks.drawClear.push((u) => pairs.forEach(({ study }) => drawInterventions(u, [study.branch.step], colourOf(study), 1)));
      const plot = new uPlot(options, [drawn.times, ...columns], boxes[n]);
      plot.over.append(cursors[n]);
      scrubbing(plot.over, (share) => clock.toMain(base.index, plot.posToVal(share * plot.over.clientWidth, "x")));
      plot.root.setAttribute("role", "img");
      plot.root.setAttribute("aria-label", `${n ? "Branch minus run" : "Run and branches"}, ${page.variables[shared.variable].title}: ${pairs.map(({ study }) => interventionText(study)).join("; ")}; values at the current ${base.unit} are below`);
      return plot;
    });
    cells = shownStudies.map(() => h("span", { class: "value" }));
    legend.replaceChildren(h("ul", {}, ...shownStudies.map((study, n) => h("li", {}, h("span", { class: "key" }, lineSample(colourOf(study), []), h("span", {}, study.label), cells[n])))));
  };
  const show = () => {
    if (!plots.length) return;
    const time = clock.toStudy(base.index, state.time), i = nearestIndex(drawn.times, time);
    plots.forEach((plot, n) => { cursors[n].style.left = `${plot.valToPos(time, "x")}px`; });
    shownStudies.forEach((study, n) => {
      const gap = pairs.findIndex((pair) => pair.study === study);
      const apart = gap < 0 || drawn.gaps[gap][i] === null ? "" : ` (${drawn.gaps[gap][i] > 0 ? "+" : ""}${shown(drawn.gaps[gap][i])})`;
      cells[n].textContent = `${shown(drawn.values[n][i])}${apart}`;
    });
  };
  on("axis", build);
  on("view", () => { if (plots.length && drawn.line.head !== undefined) build(); });
  on("moment", show);
  let before = 0;
  new ResizeObserver(() => {
    const width = boxes[0].clientWidth;
    if (plots.length && width && width !== before) { before = width; plots.forEach((plot, n) => plot.setSize({ width: boxes[n].clientWidth, height: 220 })); show(); }
  }).observe(boxes[0]);
  return panel.root;
}

// Zero is always on the axis of differences.
function gapBounds(columns) {
  const found = columns.flat().filter((v) => v !== null);
  const low = Math.min(0, ...found), high = Math.max(0, ...found), room = (high - low) * 0.05 || 1;
  return [low - room, high + room];
}
