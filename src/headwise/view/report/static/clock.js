// One slider for all studies. The first study's time is the slider's; the others follow by step, by share of the run, or
// stage by stage (piecewise linear between stage boundaries), which is how a flow is put beside a transformer.

function makeClock(studies) {
  const ends = studies.map((study) => {
    const times = study.runs.flatMap((run) => [...run.steps, ...(run.mapSteps || [])]);
    return times.length ? [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))] : [0, 0];
  });
  const boundaries = (study, i) => {
    const { stages } = chosenRun(study).events;
    const view = ["heads", "function", "loss"].map((name) => stages[name] || []).find((list) => list.length > 1) || [];
    return [ends[i][0], ...view.slice(1).map((stage) => stage.start), ends[i][1]];
  };
  const alignments = ["step", "share"];
  const stageKnots = studies.map(boundaries);
  if (studies.length > 1 && stageKnots.every((knots) => knots.length > 2 && knots.length === stageKnots[0].length)) alignments.push("stage");
  const sameUnit = studies.every((study) => study.unit === studies[0].unit);
  const usual = sameUnit ? "step" : alignments[alignments.length - 1];
  const align = alignments.includes(state.align) ? state.align : usual;
  const knots = align === "stage" ? stageKnots : ends;
  const range = align === "step" ? [Math.min(...ends.map((e) => e[0])), Math.max(...ends.map((e) => e[1]))] : ends[0];
  const drivers = align === "step" ? studies : [studies[0]];
  const frames = Float64Array.from(new Set(drivers.flatMap((study) => study.runs.flatMap((run) => [...run.steps, ...(run.mapSteps || [])])))).sort();
  const positive = (from) => { const found = Array.from(from).find((time) => time > 0); return found || 1; };
  const threshold = positive(frames);

  function bend(time, scale) { return scale === "log" ? Math.asinh(time / threshold) : time; }

  return {
    align, alignments, frames, range,
    studyRange: (i) => (align === "step" ? range : ends[i]),
    threshold: (i) => (align === "step" || i === 0 ? threshold : positive(studies[i].runs[0].steps)),
    toStudy: (i, time) => (align === "step" ? time : interpolate(time, knots[0], knots[i])),
    toMain: (i, time) => (align === "step" ? time : interpolate(time, knots[i], knots[0])),
    position(time) {
      const [low, high] = range.map((end) => bend(end, state.scale));
      return high > low ? Math.min(1, Math.max(0, (bend(time, state.scale) - low) / (high - low))) : 0;
    },
    timeAt(position) {
      const [low, high] = range.map((end) => bend(end, state.scale));
      const bent = low + position * (high - low);
      return state.scale === "log" ? Math.sinh(bent) * threshold : bent;
    },
    snap: (time) => (frames.length ? frames[nearestIndex(frames, time)] : 0),
    frameIndex: (time) => nearestIndex(frames, time),
  };
}

function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

function timeTicks(low, high, threshold, room) {
  if (state.scale !== "log") return niceTicks(low, high, Math.max(2, Math.min(10, room / 70)));
  const ticks = low <= 0 ? [0] : [];
  const first = Math.ceil(Math.log10(Math.max(low, threshold)) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  for (let power = first; power <= last; power++) ticks.push(Number((10 ** power).toPrecision(3)));
  if (last - first < 2) for (let power = first - 1; power <= last; power++) for (const m of [2, 5]) {
    const tick = Number((m * 10 ** power).toPrecision(3));
    if (tick > Math.max(low, threshold) && tick < high) ticks.push(tick);
  }
  return ticks.sort((a, b) => a - b);
}
