// One sequence of the batch with its tokens: the map of a head, and beside it the text, in which a chosen token's attention
// is the colour of the others. Maps are those of the nearest look that keeps them. Labels are whatever a tokenizer said:
// they only ever become text.

const WHITE = { " ": "·", "\n": "↵", "\t": "⇥", "\r": "␍" };

// A token as it can be seen: white space as a sign of its own, anything else that prints nothing as its code.
function tokenText(label) {
  const seen = Array.from(label, (letter) => WHITE[letter] || (/[\p{C}\p{Z}]/u.test(letter) ? `U+${letter.codePointAt(0).toString(16).toUpperCase()}` : letter)).join("");
  return seen === "" ? "∅" : seen;
}

// What is shown now: [look, example, block, head, query, key] of the packed array, of the chosen block and example.
function currentExample(study, example) {
  const run = chosenRun(study), array = run.maps && run.maps[exampleVariable()];
  if (!array || !array.shape[0]) return null;
  const [, examples, blocks, heads, queries, keys] = array.shape;
  const i = nearestIndex(run.mapSteps, clock.toStudy(study.index, state.time));
  const size = queries * keys, chosen = Math.min(example, examples - 1);
  const place = (chosen * blocks + Math.min(state.block, blocks - 1)) * heads * size, start = i * array.width + place;
  const told = run.examples[chosen];
  told.seen = told.seen || told.tokens.map(tokenText).slice(0, queries);
  const tokens = told.seen;
  return {
    look: i, step: run.mapSteps[i], full: exampleFull(run, array, chosen), tokens, sequence: told.sequence, queries: tokens.length, keys: tokens.length,
    // Of a head at the last kept look: what it puts on a token from another.
    atLast: (k, q, key) => array.values[(array.shape[0] - 1) * array.width + place + k * size + q * keys + key] || 0,
    // Only the rows and columns that have a token: an example may be shorter than others.
    head: (k) => {
      const values = array.values.subarray(start + k * size, start + (k + 1) * size);
      if (tokens.length === keys) return values;
      return Float32Array.from({ length: tokens.length * tokens.length }, (_, n) => values[Math.floor(n / tokens.length) * keys + (n % tokens.length)]);
    },
  };
}

// The share at which a colour is full, the same for all looks and heads of a block: what half of the rows reach in the
// head and at the look where they reach most.
function exampleFull(run, { shape: [looks, , blocks, heads, queries, keys], values, width }, example) {
  run.exampleFull = run.exampleFull || {};
  const place = `${example} ${state.block}`;
  if (!(place in run.exampleFull)) {
    let full = 0.1;
    for (let i = 0; i < looks; i++) for (let k = 0; k < heads; k++) {
      const start = i * width + ((example * blocks + Math.min(state.block, blocks - 1)) * heads + k) * queries * keys, tops = [];
      for (let q = 1; q < queries; q++) {
        let top = -1;
        for (let key = 0; key < keys; key++) top = Math.max(top, values[start + q * keys + key] || 0);
        tops.push(top);
      }
      tops.sort((a, b) => a - b);
      full = Math.max(full, tops[Math.floor(tops.length / 2)] || 0);
    }
    run.exampleFull[place] = full;
  }
  return run.exampleFull[place];
}

// Room for the labels of tokens: as wide as the longest one that is drawn, within limits.
function exampleEdge(context, tokens, width) {
  context.font = `11px ${FONT}`;
  const longest = Math.max(18, ...tokens.map((token) => context.measureText(token).width));
  const room = Math.min(longest + 10, 110, 0.3 * width);
  return { left: room, top: 2, right: 2, bottom: room };
}

function drawExample(context, width, height, study, now, heads, cell) {
  if (!now) return;
  const edge = exampleEdge(context, now.tokens, width), count = now.tokens.length;
  const w = width - edge.left - edge.right, hgt = height - edge.top - edge.bottom;
  drawCells(context, [edge.left, edge.top, w, hgt], now, heads, now.full, (q, k) => study.causal && k > q);
  context.strokeStyle = ink("line");
  context.lineWidth = 1;
  context.strokeRect(edge.left - 0.5, edge.top - 0.5, w + 1, hgt + 1);
  context.font = `11px ${FONT}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(11 / (Math.min(w, hgt) / count)));
  now.tokens.forEach((token, n) => {
    const isChosen = (axis) => cell && cell[axis] === n;
    if (n % every && !isChosen(0) && !isChosen(1)) return;
    const label = (axis) => {
      if (n % every && !isChosen(axis)) return;
      context.fillStyle = ink(isChosen(axis) ? "text" : "soft");
      context.fillText(token, 0, 0, edge.left - 8);
    };
    context.save();
    context.translate(edge.left - 5, edge.top + ((n + 0.5) / count) * hgt);
    label(0);
    context.restore();
    context.save();
    context.translate(edge.left + ((n + 0.5) / count) * w, edge.top + hgt + 5);
    context.rotate(-Math.PI / 2);
    label(1);
    context.restore();
  });
  if (!cell) return;
  context.strokeStyle = ink("text");
  context.strokeRect(edge.left + 0.5, edge.top + (cell[0] / count) * hgt, w - 1, hgt / count);
  context.lineWidth = 2;
  context.strokeRect(edge.left + (cell[1] / count) * w, edge.top + (cell[0] / count) * hgt, w / count, hgt / count);
}

// The head that a reader sees first: of those with a role in this block the one that goes furthest, else the first.
function tellingHead(study) {
  const doing = chosenRun(study).events.doing.filter(({ block }) => block === state.block + 1);
  return doing.length ? doing.reduce((a, b) => (b.score > a.score ? b : a)).head - 1 : 0;
}

// The token that a reader sees first: in the later half, where there is most to look at, the one from which these heads
// look most at one place once they have learned what they do. It stays while time moves.
function tellingRow(one, heads) {
  const top = (q) => Math.max(...one.tokens.map((_, key) => heads.reduce((sum, k) => sum + one.atLast(k, q, key), 0)));
  let best = Math.floor(one.tokens.length / 2);
  for (let q = best + 1; q < one.tokens.length; q++) if (top(q) > top(best)) best = q;
  return best;
}

function examplePanel(study, span, spec) {
  let example = 0, head = null, cell = null, row = null;
  const now = () => currentExample(study, example);
  const chosenHead = () => (head === null ? tellingHead(study) : head);
  const heads = () => (chosenHead() < 0 ? shownHeads(study) : [Math.min(chosenHead(), headsOf(study) - 1)]);
  const named = () => (chosenHead() < 0 ? `all heads of L${state.block}` : toolName(state.block, heads()[0]));
  const panel = makePanel({
    ...headingOf(spec), study, span,
    table: () => {
      const rows = [[study.unit, "sequence", "block", "head", "query", "query token", "key", "key token", "attention"]], one = now();
      if (!one) return rows;
      for (let k = 0; k < headsOf(study); k++) {
        const values = one.head(k);
        one.tokens.forEach((from, q) => one.tokens.forEach((to, key) => rows.push([one.step, one.sequence, state.block + 1, k + 1, q + 1, from, key + 1, to, values[q * one.keys + key]])));
      }
      return rows;
    },
    image: (title, time) => picture(`${title}: ${named()}, ${time}`, 560, 560, (context) => drawExample(context, 550, 550, study, now(), heads(), null)),
  });
  const choose = (label, options, onchange) => {
    const select = h("select", { class: "small", "aria-label": `${label} of ${spec.title}` }, ...options.map(([value, text]) => h("option", { value }, text)));
    select.addEventListener("change", () => onchange(Number(select.value)));
    panel.tools.prepend(h("label", { class: "fine" }, `${label} `, select));
    return select;
  };
  const headChoice = choose("Head", [], (value) => { head = value; changed("view"); });
  const lookChoice = choose("Look", [], (value) => goTo(clock.toMain(study.index, chosenRun(study).mapSteps[value])));
  const exampleChoice = choose("Example", [], (value) => { example = value; row = cell = null; changed("view"); });
  const stamp = h("p", { class: "stamp" });
  const readout = h("p", { class: "readout" });
  const ribbon = h("p", { class: "ribbon" });
  const square = (room) => Math.round(Math.min(room, 520));
  const view = makeCanvas("", square, (context, w, hgt) => drawExample(context, w, hgt, study, now(), heads(), cell || (row === null ? null : [row, row])));
  const map = h("div", { class: "example-map" }, view.canvas);
  // The same sequence in every head of the block, to choose one from.
  const small = Array.from({ length: study.heads }, (_, k) => {
    const thumb = makeCanvas("", (room) => room, (context, w, hgt) => { const one = now(); if (one) drawCells(context, [0, 0, w, hgt], one, [k], one.full, (q, key) => study.causal && key > q); });
    const button = h("button", { type: "button", class: "thumb", onclick: () => { head = k; changed("view"); } }, h("span", { class: "thumb-map" }, thumb.canvas), h("span", {}));
    thumb.canvas.setAttribute("role", "presentation");
    thumb.canvas.removeAttribute("aria-label");
    return { k, thumb, button };
  });
  const thumbs = h("div", { class: "thumbs", role: "group", "aria-label": `Heads of ${spec.title}` }, ...small.map(({ button }) => button));
  panel.body.append(stamp, h("div", { class: "example" }, map, h("div", { class: "example-text" }, readout, ribbon, study.heads > 1 ? thumbs : null)));

  const words = () => {
    const one = now();
    if (!one) { readout.textContent = "unpacking…"; ribbon.replaceChildren(); return; }
    const q = Math.min((cell ? cell[0] : row) ?? tellingRow(one, heads()), one.tokens.length - 1);
    const shares = one.tokens.map((_, k) => heads().reduce((sum, n) => sum + one.head(n)[q * one.keys + k], 0) / Math.max(1, heads().length));
    const best = shares.reduce((top, share, k) => (share > (shares[top] || 0) ? k : top), 0);
    const told = cell ? `token ${cell[1] + 1}, “${one.tokens[cell[1]]}”, gets ${shown(shares[cell[1]])}` : `most on token ${best + 1}, “${one.tokens[best]}”: ${shown(shares[best])}`;
    readout.textContent = Number.isFinite(shares[best]) ? `From token ${q + 1}, “${one.tokens[q]}”, ${named()}: ${told}.` : `From token ${q + 1}, “${one.tokens[q]}”, nothing was kept.`;
    readout.textContent += ` Full colour is a share of ${shown(one.full)}.`;
    const base = rgb(ink("card")), tint = rgb(chosenHead() < 0 ? ink("accent") : headColour(heads()[0]));
    while (ribbon.childElementCount < one.tokens.length) {
      const place = ribbon.childElementCount;
      ribbon.append(h("span", { onclick: () => { row = place; cell = null; view.paint(); words(); } }));
    }
    while (ribbon.childElementCount > one.tokens.length) ribbon.lastChild.remove();
    one.tokens.forEach((token, k) => {
      const span = ribbon.children[k], a = Math.min(1, (shares[k] || 0) / one.full);
      const colour = `#${base.map((c, n) => Math.round(c + a * (tint[n] - c)).toString(16).padStart(2, "0")).join("")}`;
      span.textContent = token;
      span.title = `token ${k + 1}: ${shown(shares[k])}`;
      span.className = k === q ? "from" : "";
      span.style.background = colour;
      span.style.color = contrasting(colour);
    });
  };
  const pick = (next) => { const size = now() ? now().tokens.length : 0; cell = next && next[0] < size && next[1] < size ? next : null; if (cell) [row] = cell; view.paint(); words(); };
  pickingCells(view.canvas, () => exampleEdge(view.canvas.getContext("2d"), now().tokens, view.canvas.clientWidth), () => [now().queries, now().keys], () => cell, pick, readout);

  const fill = (select, options, value) => {
    const look = JSON.stringify(options);
    if (select.dataset.look !== look) { select.dataset.look = look; select.replaceChildren(...options.map(([key, text]) => h("option", { value: key }, text))); }
    select.value = String(value);
  };
  let before = null;
  on("view", () => {
    const run = chosenRun(study);
    fill(exampleChoice, run.examples.map(({ sequence }, n) => [n, `sequence ${sequence}`]), example);
    fill(lookChoice, (run.mapSteps || []).map((step, n) => [n, `${study.unit} ${shownTime(step)}`]), 0);
    fill(headChoice, [...Array.from({ length: headsOf(study) }, (_, k) => [k, toolName(state.block, k)]), ...(headsOf(study) > 1 ? [[-1, "all heads"]] : [])], Math.min(chosenHead(), headsOf(study) - 1));
    for (const { k, button } of small) {
      button.hidden = k >= headsOf(study);
      button.lastChild.textContent = toolName(state.block, k);
      button.setAttribute("aria-pressed", String(chosenHead() === k));
    }
    exampleChoice.parentElement.hidden = run.examples.length < 2;
    before = null;
  });
  on("moment", () => {
    const one = now();
    if (!one) return words();
    const time = clock.toStudy(study.index, state.time);
    const same = Math.abs(one.step - time) < 1e-6 * Math.max(1, Math.abs(time));
    const text = `${named()} on sequence ${one.sequence} of the batch, ${same ? "" : "nearest kept look: "}${study.unit} ${shownTime(one.step)}`;
    if (stamp.textContent !== text) {
      stamp.textContent = text;
      view.canvas.setAttribute("aria-label", `Attention map of ${text}. Arrow keys read single cells.`);
    }
    // While time moves, the same look is drawn once.
    if (before === one.step) return undefined;
    before = one.step;
    lookChoice.value = String(one.look);
    view.paint();
    for (const { thumb, button } of small) if (!button.hidden) thumb.paint();
    return words();
  });
  return panel.root;
}
