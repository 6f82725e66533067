// Heads of the chosen block against each other at the current moment: how much attention they share, how far they write the
// same, or whether one stands in for the other. Rows and columns are heads in order.

function pairValues(study, name) {
  const run = chosenRun(study), array = run.curves[name];
  if (!array) return null;
  const [, blocks, heads] = array.shape;
  const i = measuredIndex(array, nearestIndex(run.steps, clock.toStudy(study.index, state.time)));
  const start = i * array.width + Math.min(state.block, blocks - 1) * heads * heads;
  const values = array.values.subarray(start, start + heads * heads), own = headsOf(study);
  // Rows and columns of heads that the block does not have are left out.
  const kept = own === heads ? values : Float32Array.from({ length: own * own }, (_, n) => values[Math.floor(n / own) * heads + (n % own)]);
  return { step: run.steps[i], heads: own, values: kept };
}

// What is dear is not measured at every look: the last time that it was, or else the first time that it will be.
function measuredIndex(array, i) {
  const measured = (at) => array.values.subarray(at * array.width, (at + 1) * array.width).some(Number.isFinite);
  for (let at = i; at >= 0; at--) if (measured(at)) return at;
  for (let at = i + 1; at < array.shape[0]; at++) if (measured(at)) return at;
  return i;
}

// The value that has the full colour: 1 for shares and cosines, the largest one of the run for what has no such limit.
function pairScale(study, name) {
  if (page.variables[name].limits.some((limit) => limit !== null)) return 1;
  return chosenRun(study).curves[name].values.reduce((top, v) => (Math.abs(v) > top ? Math.abs(v) : top), 0) || 1;
}

// From one side of zero to the other: blue alike, orange against each other.
function pairColour(value) {
  const base = rgb(ink("map")), tint = rgb(value >= 0 ? "#1b5fa8" : "#c2571a"), a = Math.min(1, Math.abs(value) || 0);
  return `#${base.map((c, n) => Math.round(c + a * (tint[n] - c)).toString(16).padStart(2, "0")).join("")}`;
}

function drawPairs(context, width, height, study, name) {
  const now = pairValues(study, name);
  if (!now) return;
  const scale = pairScale(study, name);
  const left = 34, top = 20, size = Math.min((width - left) / now.heads, (height - top) / now.heads);
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  for (let a = 0; a < now.heads; a++) {
    context.fillStyle = ink("soft");
    context.textAlign = "right";
    context.fillText(`H${a}`, left - 5, top + (a + 0.5) * size);
    context.textAlign = "center";
    context.fillText(`H${a}`, left + (a + 0.5) * size, 10);
    for (let b = 0; b < now.heads; b++) {
      const value = now.values[a * now.heads + b], colour = pairColour(value / scale);
      context.fillStyle = colour;
      context.fillRect(left + b * size + 1, top + a * size + 1, size - 2, size - 2);
      if (size < 30 || !Number.isFinite(value)) continue;
      context.fillStyle = contrasting(colour);
      context.fillText(value.toFixed(2).replace("-", "−"), left + (b + 0.5) * size, top + (a + 0.5) * size);
    }
  }
}

function pairsPanel(study, span, spec) {
  const known = spec.variables.filter(({ name }) => study.runs.some((run) => run.curves[name]));
  let name = known[0].name;
  const panel = makePanel({
    ...headingOf(spec), about: page.variables[name].about, study, span,
    table: () => {
      const rows = [[study.unit, "block", "head", "other head", page.variables[name].label]], now = pairValues(study, name);
      for (let a = 0; a < now.heads; a++) for (let b = 0; b < now.heads; b++) rows.push([now.step, state.block + 1, a + 1, b + 1, now.values[a * now.heads + b]]);
      return rows;
    },
    image: (title, now) => picture(`${title}, block ${state.block + 1}, ${now}`, 460, 450, (context) => drawPairs(context, 450, 440, study, name)),
  });
  // Two heads need no more room than their numbers.
  const view = makeCanvas("", (room) => Math.min(room, 380, 24 + 90 * study.heads), (context, w, hgt) => drawPairs(context, w, hgt, study, name));
  const readout = h("p", { class: "readout" });
  if (known.length > 1) {
    const select = h("select", { class: "small", "aria-label": `Which ${spec.title}` }, ...known.map((one) => h("option", { value: one.name }, one.choice)));
    select.addEventListener("change", () => { name = select.value; panel.explain(page.variables[name].about); changed("moment"); });
    panel.tools.prepend(select);
  }
  panel.body.append(view.canvas, readout);
  on("moment", () => {
    view.paint();
    const now = pairValues(study, name);
    let best = [0, 0], top = -1;
    for (let a = 0; a < now.heads; a++) for (let b = 0; b < a; b++) { const v = Math.abs(now.values[a * now.heads + b]); if (v > top) { top = v; best = [b, a]; } }
    const [a, b] = best, told = now.heads < 2 ? "one head has no other beside it" : top < 0 ? "no pair is finite" : `most: ${toolName(state.block, a)} and ${toolName(state.block, b)}, ${shown(now.values[b * now.heads + a])}`;
    const text = `Block ${state.block + 1} (L${state.block}), ${study.unit} ${shownTime(now.step)}; ${told}`;
    if (readout.textContent !== text) { readout.textContent = text; view.canvas.setAttribute("aria-label", `${spec.title}. ${text}`); }
  });
  return panel.root;
}
