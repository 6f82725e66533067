// Phases, offshoots and what each head copies, from the detector's report of a run. The report numbers heads as the run
// does; here every head has the number of its role, under which the page shows it in all seeds.

function readEvents(report, roles) {
  if (!report) return { competitive: null, cooperative: null, offshoots: [], copying: [], stages: {}, patterns: [] };
  const span = ({ start, end }) => (start === null ? null : [start, end]);
  const inRole = (event) => {
    const block = event.block ?? 1;
    return { ...event, block, head: roles[block - 1].indexOf(event.head) + 1 };
  };
  return {
    competitive: span(report.competitive), cooperative: span(report.specialised.cooperative),
    offshoots: report.offshoots.map(inRole), copying: report.copying.map(inRole),
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

function offshootText(study, offshoot) {
  const block = study.blocks > 1 ? ` of block ${offshoot.block}` : "";
  return `head ${offshoot.head}${block} leaves ${patternName(offshoot.from)} for ${patternName(offshoot.to)} at ${study.unit} ${shownTime(offshoot.step)}`;
}
