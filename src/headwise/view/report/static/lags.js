// Attention by lag at the current moment: one row of bars per head, over the lags of each true group.

function drawLagRow(context, width, height, study, head, top) {
  const run = chosenRun(study);
  const i = nearestIndex(run.steps, clock.toStudy(study.index, state.time));
  const shares = lagColumn(study, run, i, head);
  const slot = width / study.lags.length, floor = height - 14, ceiling = height > 60 ? 16 : 2;
  (study.groups || []).forEach((group, g) => {
    if (state.hiddenGroups.has(g)) return;
    for (const lag of group) {
      const place = study.lags.indexOf(lag);
      if (place < 0) continue;
      context.fillStyle = groupColour(g);
      context.globalAlpha = isDark() ? 0.25 : 0.14;
      context.fillRect(place * slot, 0, slot, floor);
      context.globalAlpha = 1;
      context.fillRect(place * slot + 1, floor, slot - 2, 2);
    }
    context.fillStyle = ink("text");
    context.font = `600 10px ${FONT}`;
    context.textAlign = "center";
    context.textBaseline = "top";
    const places = group.map((lag) => study.lags.indexOf(lag)).filter((place) => place >= 0);
    if (places.length && places.length * slot > 20) context.fillText(study.groupNames[g], (Math.min(...places) + places.length / 2) * slot, 3);
  });
  context.fillStyle = headColour(head);
  for (let k = 0; k < shares.length; k++) {
    const tall = Math.min(1, (shares[k] || 0) / top) * (floor - ceiling);
    context.fillRect(k * slot + Math.min(1.5, slot * 0.12), floor - tall, slot - Math.min(3, slot * 0.24), tall);
  }
  context.fillStyle = ink("soft");
  context.font = `10px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((count) => count * slot >= 18) || 1000;
  study.lags.forEach((lag, k) => { if (every === 1 || k === 0 || lag % every === 0) if (k === 0 || k * slot >= 18) context.fillText(lag, (k + 0.5) * slot, height); });
}

function lagsPanel(study, span, spec) {
  const panel = makePanel({
    ...headingOf(spec), study, span,
    table: () => {
      const run = chosenRun(study);
      const i = nearestIndex(run.steps, clock.toStudy(study.index, state.time));
      const rows = [[study.unit, "block", "head", "lag", "attention"]];
      for (let head = 0; head < headsOf(study); head++) lagColumn(study, run, i, head).forEach((share, k) => rows.push([run.steps[i], state.block + 1, head + 1, study.lags[k], share]));
      return rows;
    },
    image: (title, now) => {
      const heads = shownHeads(study);
      return picture(`${title}: ${now}`, 480, heads.length * 110, (context) => heads.forEach((head, n) => {
        context.save();
        context.translate(56, n * 110);
        context.fillStyle = ink("text");
        context.font = `12px ${FONT}`;
        context.textAlign = "right";
        context.fillText(study.watched ? toolName(state.block, head) : `head ${head + 1}`, -8, 50);
        drawLagRow(context, 414, 100, study, head, study.lagTop);
        context.restore();
      }));
    },
  });
  const list = h("div", { class: "lags" });
  panel.body.append(list, h("p", { class: "readout" }, `Lag 1 is the query's own token, lag 2 the previous one. A full bar is a share of ${shown(study.lagTop)}.`));
  const rows = Array.from({ length: study.heads }, (_, head) => {
    const view = makeCanvas("", () => (study.heads > 6 ? 46 : study.heads > 3 ? 70 : 104), (context, w, hgt) => drawLagRow(context, w, hgt, study, head, study.lagTop));
    const name = h("span", { class: "strip-name" });
    const row = h("div", { class: "strip" }, name, h("div", { class: "strip-place" }, view.canvas));
    list.append(row);
    return { head, view, name, row };
  });
  // Names of all heads take the same room, so that the bars of all heads lie under each other.
  on("view", () => list.style.setProperty("--name", `calc(22px + ${Math.max(...rows.map(({ head }) => headLabel(study, head).length))}ch)`));
  on("view", () => rows.forEach(({ head, name, row }) => {
    row.hidden = isHidden(study, head);
    name.replaceChildren(swatch(headColour(head)), headLabel(study, head));
  }));
  on("moment", () => {
    const run = chosenRun(study);
    const i = nearestIndex(run.steps, clock.toStudy(study.index, state.time));
    for (const { head, view, row } of rows) {
      if (row.hidden) continue;
      view.paint();
      const shares = lagColumn(study, run, i, head);
      const best = shares.reduce((top, share, k) => (share > shares[top] ? k : top), 0);
      view.canvas.setAttribute("aria-label", `Attention of ${headLabel(study, head)} by lag at ${study.unit} ${shownTime(run.steps[i])}; most on ${lagName(study.lags[best])}, ${shown(shares[best])}`);
    }
  });
  return panel.root;
}
