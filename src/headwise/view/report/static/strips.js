// The whole run in one picture: for each head, attention by lag (down) over training (across), on the slider's own time
// axis, under a bar that says which group the detector says it copies. Click anywhere to go there.

const STRIP = { bar: 16, gap: 2 };

function lagColumn(study, run, i, head) {
  const { values, width, shape } = run.curves[lagVariable()];
  const [, blocks, heads, lags] = shape;
  const start = i * width + (Math.min(state.block, blocks - 1) * heads + head) * lags;
  return values.subarray(start, start + lags);
}

function drawStrip(context, width, height, study, head) {
  const run = chosenRun(study);
  const lags = study.shownLags;
  const top = STRIP.bar + STRIP.gap, tall = height - top;
  const columns = Math.max(1, Math.round(width));
  const base = rgb(ink("map")), tint = rgb(headColour(head)).map((c, n) => c - base[n]);
  const { canvas: cells, context: small, image } = cellImage(columns, lags.length);
  for (let x = 0; x < columns; x++) {
    const time = clock.toStudy(study.index, clock.timeAt((x + 0.5) / columns));
    const beyond = time < run.steps[0] - 1e-9 || time > run.steps[run.steps.length - 1] + 1e-9;
    const shares = lagColumn(study, run, nearestIndex(run.steps, time), head);
    for (let row = 0; row < lags.length; row++) {
      const a = beyond ? 0 : Math.min(1, (shares[lags[row]] || 0) / study.lagTop), i = 4 * (row * columns + x);
      for (let c = 0; c < 3; c++) image.data[i + c] = base[c] + a * tint[c];
      image.data[i + 3] = 255;
    }
  }
  small.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(cells, 0, top, width, tall);
  (study.groups || []).forEach((group, g) => {
    if (state.hiddenGroups.has(g)) return;
    const rows = group.map((lag) => lags.findIndex((i) => study.lags[i] === lag)).filter((row) => row >= 0);
    if (!rows.length) return;
    context.strokeStyle = groupColour(g);
    context.lineWidth = 1;
    context.setLineDash(groupDash(g));
    for (const row of [Math.min(...rows), Math.max(...rows) + 1]) {
      const y = Math.round(top + (row / lags.length) * tall) + (row ? -0.5 : 0.5);
      context.beginPath(); context.moveTo(0, y); context.lineTo(width, y); context.stroke();
    }
    context.setLineDash([]);
    const y = top + ((Math.min(...rows) + Math.max(...rows) + 1) / 2 / lags.length) * tall;
    context.font = `600 11px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.lineWidth = 3;
    context.strokeStyle = ink("map");
    context.strokeText(study.groupNames[g], 5, y);
    context.fillStyle = ink("text");
    context.fillText(study.groupNames[g], 5, y);
  });
  drawCopying(context, width, study, head);
}

// What the report says of a head, on a bar over its strip: patterns that it copies, or roles of somebody's own model.
function barsOf(study, head) {
  const { patterns, doing } = chosenRun(study).events;
  if (!study.watched) return copiedBy(study, head).map(({ start, end, pattern }) => ({ start, end, colour: groupColour(Math.max(0, patterns.indexOf(pattern))), text: `copies ${patternName(pattern)}`, short: patternName(pattern) }));
  return doing.filter((one) => one.block === state.block + 1 && one.head === head + 1).map(({ start, end, role }) => {
    const { colour, text, short } = kindOf(study, role);
    return { start, end, colour, text, short };
  });
}

function drawCopying(context, width, study, head) {
  context.fillStyle = ink("ahead");
  context.fillRect(0, 0, width, STRIP.bar);
  for (const { start, end, colour, text, short } of barsOf(study, head)) {
    const from = clock.position(clock.toMain(study.index, start)) * width, to = clock.position(clock.toMain(study.index, end)) * width;
    context.fillStyle = colour;
    context.fillRect(from, 0, Math.max(1, to - from), STRIP.bar);
    context.fillStyle = contrasting(colour);
    context.font = `600 10px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    const words = [text, short].find((one) => context.measureText(one).width < to - from - 12);
    if (words) context.fillText(words, from + 9, STRIP.bar / 2 + 0.5);
    context.fillStyle = ink("card");
    if (from > 1) context.fillRect(from - 1, 0, 2, STRIP.bar);
  }
}

function stripsPanel(study, span, spec) {
  const tallness = (many) => STRIP.bar + STRIP.gap + Math.max(many ? 32 : 56, Math.min(many ? 44 : 88, 9 * study.shownLags.length));
  const panel = makePanel({
    ...headingOf(spec), study, span,
    table: () => {
      const rows = [["seed", study.unit, "block", "head", ...study.lags.map((lag) => `lag_${lag}`)]];
      for (const run of study.runs) {
        const { shape, values, width } = run.curves[lagVariable()];
        run.steps.forEach((step, i) => {
          for (let b = 0; b < shape[1]; b++) for (let k = 0; k < headsOf(study, b); k++) {
            const start = i * width + (b * shape[2] + k) * shape[3];
            rows.push([run.seed, step, b + 1, k + 1, ...values.subarray(start, start + shape[3])]);
          }
        });
      }
      return rows;
    },
    image: (title) => {
      const heads = shownHeads(study), tall = tallness(heads.length > 6);
      return picture(title, 900, heads.length * (tall + 10) + 4, (context) => heads.forEach((head, n) => {
        context.save();
        context.translate(70, n * (tall + 10));
        context.fillStyle = ink("text");
        context.font = `12px ${FONT}`;
        context.textAlign = "right";
        context.fillText(study.watched ? toolName(state.block, head) : `head ${head + 1}`, -8, tall / 2);
        drawStrip(context, 820, tall, study, head);
        context.restore();
      }));
    },
  });
  const list = h("div", { class: "strips" });
  panel.body.append(list, h("p", { class: "readout" }, `Rows are lags ${study.lags[study.shownLags[0]]} (top) to ${study.lags[study.shownLags[study.shownLags.length - 1]]}; full colour is a share of ${shown(study.lagTop)}.`));
  const views = Array.from({ length: study.heads }, (_, head) => {
    const view = makeCanvas(`Attention of ${headLabel(study, head)} by lag over training`, () => tallness(study.heads > 6), (context, w, hgt) => drawStrip(context, w, hgt, study, head));
    const cursor = h("div", { class: "cursor" });
    const name = h("span", { class: "strip-name" });
    const place = h("div", { class: "strip-place" }, view.canvas, cursor);
    const row = h("div", { class: "strip above" }, name, place);
    scrubbing(place, (share) => clock.timeAt(share));
    list.append(row);
    return { head, view, cursor, name, row };
  });
  on("view", () => {
    for (const { head, view, name, row } of views) {
      row.hidden = isHidden(study, head);
      if (row.hidden) continue;
      name.replaceChildren(swatch(headColour(head)), headLabel(study, head));
      if (study.watched) view.canvas.setAttribute("aria-label", `Attention of ${headLabel(study, head)} by lag over training: ${barsOf(study, head).map(({ text, start, end }) => `${text} from ${study.unit} ${shownTime(start)} to ${shownTime(end)}`).join(", ") || "no role"}`);
      view.paint();
    }
  });
  on("moment", () => {
    const left = `${100 * clock.position(state.time)}%`;
    for (const { cursor } of views) cursor.style.left = left;
  });
  return panel.root;
}

// Pressing and dragging over an element moves the time; `timeOf` takes a share of its width.
function scrubbing(element, timeOf) {
  let held = false;
  const move = (event) => {
    const box = element.getBoundingClientRect();
    if (box.width) goTo(timeOf(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width))));
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = true;
    move(event);
  });
  addEventListener("pointermove", (event) => { if (held) move(event); });
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, () => { held = false; });
}
