// The frame of every panel: heading, downloads, body.

let panelCount = 0;

function makePanel({ title, about, study, span, table, image }) {
  const id = `panel-${++panelCount}`;
  const of = study && studies.length > 1 ? `, ${study.label}` : "";
  const tools = h("div", { class: "tools" });
  const body = h("div", { class: "panel-body" });
  const heading = h("h3", { id, title: about }, title);
  const line = h("p", { class: "about", id: `${id}-about`, hidden: true }, about || "");
  const ask = h("button", {
    type: "button", class: "small ask", "aria-expanded": "false", "aria-controls": line.id, "aria-label": `What is ${title}${of}?`,
    onclick: () => { line.hidden = !line.hidden; ask.setAttribute("aria-expanded", String(!line.hidden)); },
  }, "?");
  const explain = (text) => { heading.title = text; line.textContent = text; };
  const root = h("section", { class: `panel span-${span}`, "aria-labelledby": id }, h("header", {}, heading, ask, tools), line, body);
  if (study && studies.length > 1) heading.append(h("span", { class: "of" }, study.label));
  const now = () => (study ? study.unit : "step") + " " + shownTime(study ? clock.toStudy(study.index, state.time) : state.time);
  if (image) {
    tools.append(h("button", {
      type: "button", class: "small", "aria-label": `Download ${title}${of} as PNG`,
      onclick: async () => savePicture(fileName([title, of, now()], "png"), await image(`${title}${of}`, now())),
    }, "PNG"));
  }
  if (table) {
    tools.append(h("button", {
      type: "button", class: "small", "aria-label": `Download the data of ${title}${of} as CSV`,
      onclick: () => saveTable(fileName([title, of], "csv"), table()),
    }, "CSV"));
  }
  return { root, body, tools, heading, explain };
}

// Only what is on the screen, or about to be, is painted; the rest waits here until it is scrolled to or printed.
const waiting = new Map();
const nearby = new Set();
const lookout = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) nearby.add(target); else nearby.delete(target);
    if (isIntersecting) paintWaiting(target);
  }
}, { rootMargin: "300px" });

function paintWaiting(canvas) {
  const paint = waiting.get(canvas);
  waiting.delete(canvas);
  if (paint) paint();
}
addEventListener("beforeprint", () => { for (const canvas of [...waiting.keys()]) paintWaiting(canvas); });

// A canvas that keeps the resolution of the screen; `draw(context, width, height)` works in CSS pixels.
function makeCanvas(label, heightFor, draw) {
  const canvas = h("canvas", { role: "img", "aria-label": label });
  let width = 0, height = 0;
  lookout.observe(canvas);
  const paint = () => {
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    const w = Math.round(width * ratio), hgt = Math.round(height * ratio);
    if (canvas.width !== w || canvas.height !== hgt) { canvas.width = w; canvas.height = hgt; }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  };
  const measure = () => {
    const room = canvas.parentElement ? canvas.parentElement.clientWidth : 0;
    const next = heightFor(room);
    if (room === width && next === height) return false;
    width = room;
    height = next;
    canvas.style.height = `${height}px`;
    return true;
  };
  new ResizeObserver(() => { if (measure()) paint(); }).observe(canvas);
  // Measuring in every frame would make the browser lay the page out several times a frame; the observer sees changes.
  return {
    canvas,
    paint: () => {
      if (!width) measure();
      if (nearby.has(canvas)) paint(); else waiting.set(canvas, paint);
    },
  };
}
