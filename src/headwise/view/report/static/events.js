// Phases, offshoots and what each head copies, from the detector's report of a run. The report numbers heads as the run
// does; here every head has the number of its role, under which the page shows it in all seeds.

function readEvents(report, roles) {
  if (!report) return { competitive: null, cooperative: null, offshoots: [], copying: [], doing: [], stages: {}, patterns: [] };
  const span = ({ start, end }) => (start === null ? null : [start, end]);
  const inRole = (event) => {
    const block = event.block ?? 1;
    return { ...event, block, head: roles[block - 1].indexOf(event.head) + 1 };
  };
  return {
    competitive: span(report.competitive), cooperative: span(report.specialised.cooperative),
    offshoots: report.offshoots.map(inRole), copying: report.copying.map(inRole), doing: (report.roles || []).map(inRole),
    stages: report.stages, patterns: report.specialised.patterns.map(({ pattern }) => pattern),
  };
}

// The run of a study whose maps and phases are shown.
function chosenRun(study) {
  return study.runs[state.seeds[study.index]];
}

function copiedBy(study, head) {
  return chosenRun(study).events.copying.filter((one) => one.block === state.block + 1 && one.head === head + 1);
}

// A head as this page calls it; of somebody's own model also as other tools do, counted from 0.
function headLabel(study, head, block = state.block) {
  return study.watched ? `head ${head + 1} · ${toolName(block, head)}` : `head ${head + 1}`;
}

// Heads of a block, the chosen one by default: blocks of somebody's own model may have fewer than `study.heads`.
function headsOf(study, block = state.block) {
  return study.headCounts[Math.min(block, study.headCounts.length - 1)] ?? study.heads;
}

function isHidden(study, head) { return state.hiddenHeads.has(head) || head >= headsOf(study); }

function toolName(block, head) { return `L${block}H${head}`; }

// Lag 1 is the query's own token, which those who count otherwise must be told.
function lagName(lag) {
  return `lag ${lag}${lag === 1 ? " (own token)" : lag === 2 ? " (previous token)" : ""}`;
}

// The roles of a head at a moment of its study, the highest first.
function rolesAt(study, block, head, time) {
  return chosenRun(study).events.doing.filter((one) => one.block === block + 1 && one.head === head + 1 && time >= one.start && time <= one.end).sort((a, b) => b.score - a.score);
}

function kindOf(study, role) { return study.kinds.find((kind) => kind.role === role); }

function offshootText(study, offshoot) {
  const block = study.blocks > 1 ? ` of block ${offshoot.block}` : "";
  return `head ${offshoot.head}${block} leaves ${patternName(offshoot.from)} for ${patternName(offshoot.to)} at ${study.unit} ${shownTime(offshoot.step)}`;
}
