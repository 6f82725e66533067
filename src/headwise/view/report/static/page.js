// Puts the page together: unpack, lay out the panels for what the runs hold, wire them to one clock.

let studies = [];
let clock = null;

function resetClock() {
  clock = makeClock(studies);
  state.time = clock.snap(state.time);
}

async function readStudy(data, index) {
  const runs = await Promise.all(data.runs.map(async (run) => ({
    label: run.label, seed: run.seed, roles: run.roles, examples: run.examples, events: readEvents(run.report, run.roles), steps: run.curves.steps, curves: await unpackBlock(run.curves),
    packedMaps: run.maps, mapSteps: run.maps ? run.maps.steps : null, maps: null,
  })));
  const c = data.coordinates;
  const study = {
    index, label: data.label, unit: data.unit, watched: data.watched, kinds: data.kinds, coordinates: c, groups: data.groups, report: data.report, branch: data.branch, runs,
    heads: (c.head || []).length, headCounts: data.heads, blocks: Math.max(1, (c.block || []).length), lags: c.lag || [], queries: c.query || [], keys: c.key || [],
    times: [...new Set(runs.flatMap((run) => run.steps))].sort((a, b) => a - b),
  };
  study.groupNames = (data.groups || []).map((_, g) => (c.group || [])[g] || `I(${g + 1})`);
  study.causal = study.lags.length ? study.lags.every((lag) => lag >= 1) : false;
  study.hasLags = runs.some((run) => run.curves[lagVariable()] && run.steps.length);
  if (study.hasLags) Object.assign(study, lagRange(study));
  return study;
}

// Which lags deserve a row (those of the groups; without groups, any that ever gets a tenth), and the share that fills a
// bar.
function lagRange(study) {
  const array = study.runs.find((run) => run.curves[lagVariable()]).curves[lagVariable()];
  const n = study.lags.length, top = new Float32Array(n);
  array.values.forEach((v, i) => { if (v > top[i % n]) top[i % n] = v; });
  const wanted = study.lags.map((lag, i) => (study.groups ? study.groups.some((group) => group.includes(lag)) : top[i] >= 0.1));
  const first = wanted.indexOf(true), last = wanted.lastIndexOf(true);
  const from = Math.max(0, first < 0 ? 0 : first - 1), to = Math.min(n - 1, last < 0 ? n - 1 : last + 1);
  return { shownLags: Array.from({ length: to - from + 1 }, (_, i) => from + i), lagTop: Math.max(...top) || 1 };
}

// The variable that the panels of attention by lag draw, and the one that the maps draw.
function lagVariable() { return variableOf("strips"); }
function mapVariable() { return variableOf("overlay"); }
function exampleVariable() { return variableOf("example"); }
function variableOf(kind) {
  const spec = page.panels.find((one) => one.kind === kind);
  return spec ? spec.variables[0].name : null;
}

function headingOf(spec) {
  return { title: spec.title, about: spec.about };
}

async function loadMaps(run) {
  if (!run.packedMaps || run.maps) return;
  run.maps = await unpackBlock(run.packedMaps);
  changed("view");
}

function chips() {
  const heads = Math.max(...studies.map((study) => study.heads));
  const groups = studies.find((study) => study.groups && study.groups.length === Math.max(...studies.map((s) => (s.groups || []).length)));
  const bar = h("div", { class: "chips" });
  const row = (label, names, set, sample) => {
    const group = h("div", { role: "group", "aria-label": `Show ${label.toLowerCase()}` }, h("span", { class: "chips-label" }, label));
    const buttons = names.map((name, n) => h("button", { type: "button", class: "chip", onclick: () => { if (set.has(n)) set.delete(n); else set.add(n); changed("view"); } }));
    on("view", () => buttons.forEach((button, n) => {
      button.setAttribute("aria-pressed", String(!set.has(n)));
      button.replaceChildren(sample(n), names[n]);
    }));
    group.append(...buttons);
    bar.append(group);
  };
  if (heads > 1) row("Heads", Array.from({ length: heads }, (_, k) => studies.every((study) => study.watched) ? `head ${k + 1} · H${k}` : `head ${k + 1}`), state.hiddenHeads, (k) => swatch(headColour(k)));
  const alike = studies.every((study) => JSON.stringify(study.groups) === JSON.stringify(groups && groups.groups));
  const named = (lags, g) => groups.groupNames[g] + (alike ? ` ${lags.length > 1 ? "lags" : "lag"} ${lagText(lags)}` : "");
  if (groups) row("Groups", groups.groups.map(named), state.hiddenGroups, (g) => lineSample(groupColour(g), groupDash(g)));
  return bar.childElementCount ? bar : null;
}

// Where the page opens: at the first evaluation after the first event and in its block, or at the end where there is no
// event, since all trainings begin alike.
function openAtFirstEvent() {
  const found = studies.flatMap((study) => {
    const { offshoots, doing } = chosenRun(study).events;
    const events = [...offshoots, ...(study.watched ? doing.map(({ start, block }) => ({ step: start, block })) : [])];
    return events.map(({ step, block }) => ({ time: clock.toMain(study.index, step), block }));
  }).sort((a, b) => a.time - b.time);
  if (found.length && !state.block) state.block = found[0].block - 1;
  return found.length ? clock.frames.find((time) => time >= found[0].time) ?? clock.range[1] : clock.range[1];
}

function lagText(lags) {
  const sorted = [...lags].sort((a, b) => a - b);
  const whole = sorted.length > 2 && sorted.every((lag, i) => lag === sorted[0] + i);
  return whole ? `${sorted[0]}–${sorted[sorted.length - 1]}` : sorted.join(", ");
}

function layOut() {
  const rows = [];
  const bar = chips();
  if (bar) rows.push(bar);
  const several = studies.length > 1;
  const ofBranches = branchesPanel();
  if (ofBranches) rows.push(ofBranches);
  const keeps = (study, name) => study.runs.some((run) => run.packedMaps && name in run.packedMaps.parts);
  const hasMaps = (study) => keeps(study, mapVariable()) && study.queries.length > 0;
  const hasExamples = (study) => keeps(study, exampleVariable()) && study.heads > 0;
  const hasLags = (study) => study.hasLags;
  const hasRoles = (study) => study.watched && study.heads > 0;
  const ofPairs = page.panels.filter(({ kind }) => kind === "pairs");
  const hasPairs = (study, { variables }) => study.heads > 1 && variables.some(({ name }) => study.runs.some((run) => run.curves[name]));
  // Beside the lags and two in a row; a last one that is alone in its row has all of it.
  const shownPairs = ofPairs.filter((spec) => studies.some((study) => hasPairs(study, spec)));
  const beside = studies.some(hasMaps) ? 4 : shownPairs.length && studies.some(hasLags) ? 6 : 12;
  const drawings = {
    grid: [hasRoles, gridPanel, 6],
    doing: [hasRoles, doingPanel, 6],
    example: [hasExamples, examplePanel, 12],
    pairs: [hasPairs, pairsPanel, (spec) => (studies.some(hasLags) && !(shownPairs.length % 2 === 0 && spec === shownPairs.at(-1)) ? 6 : 12)],
    strips: [hasLags, stripsPanel, 12],
    overlay: [hasMaps, overlayPanel, 4],
    singles: [hasMaps, singlesPanel, studies.some(hasLags) ? 4 : 8],
    lags: [hasLags, lagsPanel, beside],
  };
  for (const spec of page.panels.filter(({ kind }) => kind in drawings)) {
    const [has, make, span] = drawings[spec.kind];
    if (!studies.some((study) => has(study, spec))) continue;
    for (const study of studies) rows.push(has(study, spec) ? make(study, several ? "study" : typeof span === "function" ? span(spec) : span, spec) : several ? h("div", { class: "panel span-study absent" }, h("p", { class: "notice" }, `${study.label} kept none of this`)) : "");
  }
  rows.push(...allCurvePanels());
  const holder = document.getElementById("panels");
  holder.classList.toggle("studies", several);
  holder.style.setProperty("--studies", String(studies.length));
  holder.replaceChildren(...rows);
  if (!rows.length) holder.append(h("p", { class: "notice" }, "This run holds nothing that can be drawn."));
  holder.setAttribute("aria-busy", "false");
}

async function start() {
  wireTheme();
  if (!knowsData()) return;
  if (!("DecompressionStream" in window)) {
    document.getElementById("waiting").textContent = "This browser is too old to unpack the page's data; one from 2023 or later can.";
    return;
  }
  state.seeds = page.studies.map(() => 0);
  studies = await Promise.all(page.studies.map(readStudy));
  page.studies = null;
  const time = recallPlace(studies);
  clock = makeClock(studies);
  state.time = clock.snap(time ?? openAtFirstEvent());
  layOut();
  wireDock();
  themeListeners.push(() => changed("axis"));
  changed("axis");
  await Promise.all(studies.map((study) => loadMaps(chosenRun(study))));
  if (page.live) watchForNewer();
  // For scripts and tests: where the page stands, moving it, and the numbers it draws.
  window.headwise = {
    ready: true, goTo, times: () => Array.from(clock.frames), time: () => state.time,
    attention: (study = 0) => { const maps = currentMaps(studies[study]); return { step: maps.step, values: Array.from({ length: maps.heads }, (_, k) => Array.from(maps.head(k))) }; },
    settled: () => pending.size === 0,
    redrawn: (time) => { goTo(time); const start = performance.now(); redraw(); return performance.now() - start; },
  };
}

// In a frame a page only says when it was written, for a page that waits for a newer one; a notebook's frame is the page.
if (window !== window.parent && !page.embedded) { if (page.live !== undefined) parent.postMessage({ headwise: page.live ? page.live.written : null }, "*"); } else start();
