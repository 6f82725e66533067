// What the heads of somebody's own model do: a cell for each head of every block at the current moment, and a line for each
// over training. Roles are those of the report, so what is coloured here is what its sentences say.

function headTotal(study) { return study.headCounts.reduce((sum, heads) => sum + heads, 0); }

// The line of a head among those of all blocks.
function lineOf(study, block, head) { return study.headCounts.slice(0, block).reduce((sum, heads) => sum + heads, head); }

function rolesText(study, time) {
  const begun = chosenRun(study).events.doing.filter(({ start }) => start <= time);
  const held = new Set(begun.filter(({ end }) => time <= end).map(({ block, head }) => `${block}.${head}`)).size;
  if (!begun.length) return "no head has a role yet";
  const last = begun.reduce((a, b) => (b.start >= a.start ? b : a));
  return `${held} of ${headTotal(study)} heads ${held === 1 ? "has" : "have"} a role; last: ${toolName(last.block - 1, last.head - 1)}, ${kindOf(study, last.role).text}`;
}

function kindList(study) {
  if (!study.kinds.length) return h("p", { class: "readout" }, "The report finds no role that is beyond doubt.");
  return h("ul", { class: "kinds" }, ...study.kinds.map(({ colour, text, short }) => h("li", {}, swatch(colour), short === text ? text : `${short}: ${text}`)));
}

function rolesTable(study) {
  const rows = [["seed", "block", "head", "name", "role", "start", "end", "score", "chance"]];
  for (const run of study.runs) for (const one of run.events.doing) rows.push([run.seed, one.block, one.head, toolName(one.block - 1, one.head - 1), one.role, one.start, one.end, one.score, one.chance]);
  return rows;
}

function gridPanel(study, span, spec) {
  const panel = makePanel({
    ...headingOf(spec), study, span, table: () => rolesTable(study),
    image: (title, now) => picture(`${title}, ${now}`, 60 + 46 * study.heads, 30 + 26 * study.blocks, (context) => drawGrid(context, study)),
  });
  const choose = (block) => { state.block = block; changed("axis"); };
  const rows = Array.from({ length: study.blocks }, (_, block) => {
    const button = h("button", { type: "button", "aria-label": `Show block ${block + 1} in detail`, title: `block ${block + 1}`, onclick: () => choose(block) }, `L${block}`);
    const cells = Array.from({ length: headsOf(study, block) }, () => h("td", { onclick: () => choose(block) }));
    return { block, button, cells };
  });
  const table = h("table", { class: "grid-roles" },
    h("thead", {}, h("tr", {}, h("td", {}), ...Array.from({ length: study.heads }, (_, head) => h("th", { scope: "col", title: `head ${head + 1}` }, `H${head}`)))),
    h("tbody", {}, ...rows.map(({ button, cells }) => h("tr", {}, h("th", { scope: "row" }, button), ...cells, ...Array.from({ length: study.heads - cells.length }, () => h("td", { class: "none" }))))));
  table.style.setProperty("--heads", String(study.heads));
  panel.body.append(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Roles of all heads" }, table), kindList(study));
  on("view", () => rows.forEach(({ block, button }) => button.setAttribute("aria-pressed", String(block === Math.min(state.block, study.blocks - 1)))));
  on("moment", () => {
    const time = clock.toStudy(study.index, state.time);
    for (const { block, cells } of rows) cells.forEach((cell, head) => {
      const [best, ...others] = rolesAt(study, block, head, time);
      const kind = best && kindOf(study, best.role);
      const look = kind ? [best, ...others].map(({ role }) => role).join() : "";
      if (cell.dataset.look === look) return;
      cell.dataset.look = look;
      cell.textContent = kind ? kind.short : "";
      cell.style.background = kind ? kind.colour : "";
      cell.style.color = kind ? contrasting(kind.colour) : "";
      cell.title = `${toolName(block, head)}: ${kind ? [best, ...others].map(({ role, score }) => `${kindOf(study, role).text}, ${shown(score)} above chance at its height`).join("; ") : "no role"}`;
    });
  });
  return panel.root;
}

function drawGrid(context, study) {
  const time = clock.toStudy(study.index, state.time);
  context.font = `11px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let head = 0; head < study.heads; head++) { context.fillStyle = ink("soft"); context.fillText(`H${head}`, 50 + 46 * head + 22, 10); }
  for (let block = 0; block < study.blocks; block++) {
    context.fillStyle = ink("soft");
    context.fillText(`L${block}`, 26, 20 + 26 * block + 12);
    for (let head = 0; head < headsOf(study, block); head++) {
      const [best] = rolesAt(study, block, head, time), kind = best && kindOf(study, best.role);
      context.fillStyle = kind ? kind.colour : ink("ahead");
      context.fillRect(50 + 46 * head, 20 + 26 * block, 44, 24);
      context.fillStyle = kind ? contrasting(kind.colour) : ink("text");
      if (kind) context.fillText(kind.short, 50 + 46 * head + 22, 20 + 26 * block + 12, 42);
    }
  }
}

// Lines of all heads, block under block, thin where there are many.
function drawDoing(context, width, height, study) {
  const { doing } = chosenRun(study).events;
  const tall = height / headTotal(study);
  context.fillStyle = ink("ahead");
  context.fillRect(0, 0, width, height);
  // A head may have several roles at once: the highest is drawn last, and so on top.
  for (const { block, head, role, start, end } of [...doing].sort((a, b) => a.score - b.score)) {
    const from = clock.position(clock.toMain(study.index, start)) * width, to = clock.position(clock.toMain(study.index, end)) * width;
    const y = lineOf(study, block - 1, head - 1) * tall, { colour, text, short } = kindOf(study, role);
    context.fillStyle = colour;
    context.fillRect(from, y + (tall > 5 ? 0.5 : 0), Math.max(1.5, to - from), tall - (tall > 5 ? 1 : 0));
    if (tall < 13) continue;
    context.font = `600 10px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillStyle = contrasting(colour);
    const words = [text, short].find((one) => context.measureText(one).width < to - from - 12);
    if (words) context.fillText(words, from + 8, y + tall / 2 + 0.5);
  }
  context.strokeStyle = ink("card");
  context.lineWidth = 2;
  for (let block = 1; block < study.blocks; block++) {
    const y = lineOf(study, block, 0) * tall;
    context.beginPath(); context.moveTo(0, y); context.lineTo(width, y); context.stroke();
  }
}

function doingPanel(study, span, spec) {
  const count = headTotal(study);
  const tall = Math.max(count * 3, Math.min(20 * count, Math.max(120, 360)));
  const panel = makePanel({
    ...headingOf(spec), study, span, table: () => rolesTable(study),
    image: (title) => picture(title, 900, tall + 10, (context) => { context.translate(10, 0); drawDoing(context, 880, tall, study); }),
  });
  const alone = count <= 24;
  const names = h("div", { class: "doing-names", "aria-hidden": "true" }, ...(alone
    ? study.headCounts.flatMap((heads, block) => Array.from({ length: heads }, (_, head) => h("span", {}, toolName(block, head))))
    : study.headCounts.map((heads, block) => { const name = h("span", {}, `L${block}`); name.style.flexGrow = String(heads); return name; })));
  const view = makeCanvas("", () => tall, (context, w, hgt) => drawDoing(context, w, hgt, study));
  const cursor = h("div", { class: "cursor" });
  const place = h("div", { class: "strip-place" }, view.canvas, cursor);
  scrubbing(place, (share) => clock.timeAt(share));
  panel.body.append(h("div", { class: "doing" }, names, place), kindList(study));
  on("view", () => {
    const { doing } = chosenRun(study).events;
    const told = study.kinds.map(({ role, text }) => `${text}: ${new Set(doing.filter((one) => one.role === role).map((one) => toolName(one.block - 1, one.head - 1))).size} heads`);
    view.canvas.setAttribute("aria-label", `Roles of all heads over training. ${told.join(", ") || "No role was taken up"}`);
    view.paint();
  });
  on("moment", () => { cursor.style.left = `${100 * clock.position(state.time)}%`; });
  return panel.root;
}

// Marks on the timeline where heads take up roles; those that would overlap share one mark that counts them.
function roleMarks(study, run, room) {
  const place = (time) => clock.position(clock.toMain(study.index, time));
  const clusters = [];
  for (const one of [...run.events.doing].sort((a, b) => a.start - b.start)) {
    const last = clusters[clusters.length - 1];
    if (last && (place(one.start) - last.at) * room < 62) last.events.push(one); else clusters.push({ at: place(one.start), events: [one] });
  }
  return clusters.map(({ at, events }) => {
    const [first] = events, kind = kindOf(study, first.role);
    const told = events.slice(0, 6).map((one) => `${toolName(one.block - 1, one.head - 1)} takes up ${kindOf(study, one.role).text} at ${study.unit} ${shownTime(one.start)}`);
    const text = told.join("; ") + (events.length > 6 ? `; and ${events.length - 6} more` : "");
    const mark = h("button", {
      type: "button", class: "mark many", title: text, "aria-label": `Go to: ${text}`,
      onclick: () => { state.block = first.block - 1; changed("axis"); goTo(clock.toMain(study.index, first.start)); },
    }, swatch(kind.colour), events.length > 1 ? `${events.length}×` : toolName(first.block - 1, first.head - 1));
    // Kept inside the dock at both ends.
    mark.style.left = `${100 * Math.min(Math.max(at, 14 / room), 1 - 44 / room)}%`;
    return mark;
  });
}
