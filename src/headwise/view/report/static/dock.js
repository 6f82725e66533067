// The time dock: phases and offshoots as bands and marks to click, the slider under them on the same axis, and the
// buttons. The slider is the browser's own; keys move by evaluation, because its own steps mean nothing here.

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dock = Object.fromEntries(["slider", "now", "now-phase", "play", "back", "forward", "event-back", "event-next", "timelines", "ticks", "choices"].map((id) => [id, document.getElementById(id)]));

function goTo(time) {
  const next = clock.snap(time);
  if (next !== state.time) { state.time = next; changed("moment"); }
}

function goBy(count) {
  const { frames } = clock;
  if (frames.length) goTo(frames[Math.min(frames.length - 1, Math.max(0, clock.frameIndex(state.time) + count))]);
}

function eventTimes() {
  const times = studies.flatMap((study) => {
    const { competitive, offshoots, doing } = chosenRun(study).events;
    const found = [...(study.branch ? [study.branch.step] : []), ...(competitive ? [competitive[0]] : []), ...offshoots.map((o) => o.step), ...(study.watched ? doing.map((one) => one.start) : [])];
    return found.map((time) => clock.snap(clock.toMain(study.index, time)));
  });
  return [...new Set(times)].sort((a, b) => a - b);
}

function goToEvent(direction) {
  const times = eventTimes();
  const next = direction > 0 ? times.find((time) => time > state.time) : times.reverse().find((time) => time < state.time);
  goTo(next ?? (direction > 0 ? clock.range[1] : clock.range[0]));
}

function phaseAt(study, time) {
  if (study.watched) return rolesText(study, time);
  const { competitive, offshoots } = chosenRun(study).events;
  const left = offshoots.filter((o) => clock.snap(clock.toMain(study.index, o.step)) <= clock.snap(clock.toMain(study.index, time)));
  if (left.length) {
    const o = left[left.length - 1];
    return `cooperative phase; last to leave: head ${o.head} for ${patternName(o.to)}`;
  }
  if (competitive && time >= competitive[0] && time <= competitive[1]) return "competitive phase";
  return competitive && time < competitive[0] ? "before competition" : "";
}

function buildTimelines() {
  const rows = studies.map((study) => {
    const run = chosenRun(study);
    const { competitive, cooperative, offshoots } = run.events;
    const place = (time) => 100 * clock.position(clock.toMain(study.index, time));
    const row = h("div", { class: "timeline", role: "group", "aria-label": `${study.watched ? "Events" : "Phases"}${studies.length > 1 ? `, ${study.label}` : ""}` });
    const band = (span, name) => {
      const button = h("button", { type: "button", class: `band ${name}`, "aria-label": `Go to the start of the ${name} phase, ${study.unit} ${shownTime(span[0])}`, onclick: () => goTo(clock.toMain(study.index, span[0])) }, h("span", {}, name));
      button.style.left = `${place(span[0])}%`;
      button.style.width = `${place(span[1]) - place(span[0])}%`;
      row.append(button);
    };
    if (competitive) band(competitive, "competitive");
    if (cooperative) band(cooperative, "cooperative");
    if (study.watched) row.append(...roleMarks(study, run, dock.timelines.clientWidth || 800));
    if (study.branch) {
      const mark = h("button", { type: "button", class: "mark", title: interventionText(study), "aria-label": `Branch: ${interventionText(study)}`, onclick: () => goTo(clock.toMain(study.index, study.branch.step)) }, h("span", { class: "done" }, "✂"));
      mark.style.left = `${place(study.branch.step)}%`;
      row.append(mark);
    }
    const many = offshoots.length > 6;
    for (const o of study.watched ? [] : offshoots) {
      const mark = h("button", {
        type: "button", class: "mark", title: offshootText(study, o), "aria-label": `Offshoot: ${offshootText(study, o)}`,
        onclick: () => { if (study.blocks > 1) { state.block = o.block - 1; changed("axis"); } goTo(clock.toMain(study.index, o.step)); },
      }, swatch(headColour(o.head - 1), String(o.head)), many ? null : h("span", { class: "wide" }, `→ ${patternName(o.to)}`));
      mark.style.left = `${place(o.step)}%`;
      row.append(mark);
    }
    for (const o of study.report ? study.report.offshoots : []) {
      const whisker = h("span", { class: "whisker", title: `median of the seeds ${shownTime(o.step)}, interval ${o.interval.map(shownTime).join(" to ")}` });
      whisker.style.left = `${place(o.interval[0])}%`;
      whisker.style.width = `${place(o.interval[1]) - place(o.interval[0])}%`;
      row.append(whisker);
    }
    if (!row.childElementCount) row.append(h("span", { class: "quiet" }, run.steps.length > 1 ? (study.watched ? "no role was taken up" : "no phases were found") : "one evaluation shows no phases"));
    return studies.length > 1 ? h("div", { class: "timeline-study" }, h("span", { class: "timeline-name" }, study.label, h("b", {}, "")), row) : row;
  });
  dock.timelines.replaceChildren(...rows);
  const room = dock.ticks.clientWidth;
  dock.ticks.replaceChildren(...timeTicks(clock.range[0], clock.range[1], clock.frames.find((t) => t > 0) || 1, room).map((tick) => {
    const label = h("span", {}, shownTime(tick));
    label.style.left = `${100 * clock.position(tick)}%`;
    return label;
  }));
}

function showTime() {
  const study = studies[0];
  const phase = phaseAt(study, clock.toStudy(0, state.time));
  dock.slider.value = String(clock.position(state.time));
  if (studies.length > 1) dock.timelines.querySelectorAll(".timeline-name b").forEach((name, i) => {
    name.textContent = ` ${studies[i].unit} ${shownTime(clock.toStudy(i, state.time))}`;
  });
  dock.now.textContent = `${study.unit} ${shownTime(state.time)}`;
  dock["now-phase"].textContent = phase;
  dock.slider.setAttribute("aria-valuetext", `${study.unit} ${shownTime(state.time)} of ${shownTime(clock.range[1])}${phase ? `, ${phase}` : ""}`);
}

let playStart = null;
function play(go) {
  state.playing = go;
  playStart = null;
  dock.play.setAttribute("aria-label", go ? "Pause" : "Play");
  dock.play.querySelector("path").setAttribute("d", go ? "M4 2h4v14H4zM11 2h4v14h-4z" : "M4 2l11 7-11 7z");
  if (!go) return;
  if (state.time >= clock.frames[clock.frames.length - 1]) goTo(clock.range[0]);
  // The whole run in twelve seconds; with reduced motion, in twenty separate pictures.
  const length = 12000, pictures = calm.matches ? 20 : Infinity;
  const step = (now) => {
    if (!state.playing) return;
    if (playStart === null) playStart = now - clock.position(state.time) * length;
    const share = Math.min(1, (now - playStart) / length);
    goTo(clock.timeAt(pictures === Infinity ? share : Math.floor(share * pictures) / pictures));
    if (share < 1) requestAnimationFrame(step); else play(false);
  };
  requestAnimationFrame(step);
}

function wireDock() {
  dock.slider.addEventListener("input", () => { play(false); goTo(clock.timeAt(Number(dock.slider.value))); });
  dock.slider.addEventListener("change", () => showTime());
  dock.slider.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -1e9, End: 1e9 };
    const others = { n: () => goToEvent(1), p: () => goToEvent(-1), " ": () => play(!state.playing) };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) { play(false); goBy(moves[event.key]); } else if (event.key in others) others[event.key](); else return;
    event.preventDefault();
  });
  dock.play.addEventListener("click", () => play(!state.playing));
  dock.back.addEventListener("click", () => goBy(-1));
  dock.forward.addEventListener("click", () => goBy(1));
  dock["event-back"].addEventListener("click", () => goToEvent(-1));
  dock["event-next"].addEventListener("click", () => goToEvent(1));
  for (const radio of document.querySelectorAll("input[name=scale]")) {
    radio.checked = radio.value === state.scale;
    radio.addEventListener("change", () => { state.scale = radio.value; changed("axis"); });
  }
  addChoices();
  on("axis", buildTimelines);
  on("view", buildTimelines);
  on("moment", showTime);
  let width = 0;
  new ResizeObserver(() => { if (dock.ticks.clientWidth !== width) { width = dock.ticks.clientWidth; buildTimelines(); } }).observe(dock.ticks);
}

function choice(label, options, chosen, apply) {
  const select = h("select", {}, ...options.map(([value, text]) => h("option", { value }, text)));
  select.value = String(chosen);
  select.addEventListener("change", () => apply(select.value));
  dock.choices.append(h("label", {}, `${label} `, select));
  return select;
}

function addChoices() {
  if (studies.length > 1 && clock.alignments.length > 1) {
    const names = { step: "by step", share: "by share of the run", stage: "stage by stage" };
    choice("Align", clock.alignments.map((name) => [name, names[name]]), clock.align, (value) => { state.align = value; resetClock(); changed("axis"); });
  }
  const blocks = Math.max(...studies.map((study) => study.blocks));
  if (blocks > 1) {
    const select = choice("Block", Array.from({ length: blocks }, (_, b) => [b, String(b + 1)]), state.block, (value) => { state.block = Number(value); changed("axis"); });
    on("axis", () => { select.value = String(state.block); });
  }
  for (const study of studies) {
    if (study.runs.length < 2) continue;
    choice(studies.length > 1 ? `Heads of ${study.label}` : "Heads of", study.runs.map((run, n) => [n, run.label]), state.seeds[study.index], (value) => {
      state.seeds[study.index] = Number(value);
      resetClock();
      loadMaps(study.runs[Number(value)]);
      changed("axis");
    });
  }
}
