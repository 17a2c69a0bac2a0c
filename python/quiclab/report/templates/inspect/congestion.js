// Window, RTT, pacing and packet numbers of one end.

const WINDOW_LINES = [
  ["cwnd_bytes", "congestion window", "step", "blue"],
  ["in_flight_bytes", "in flight", "step", "orange"],
  ["ssthresh_bytes", "slow-start threshold", "dash", "purple"],
];
const RTT_LINES = [
  ["latest_rtt_ms", "latest", "step", "sky"],
  ["srtt_ms", "smoothed", "step", "blue"],
  ["min_rtt_ms", "minimum", "dash", "green"],
];

const recorded = (end, until) => end.ends ?? until;

function linesOf(end, lines, whole) {
  const until = recorded(end, whole);
  return lines.filter(([name]) => end.metrics[name]).map(([name, label, kind, colour]) => ({ label, kind, colour, until, ...end.metrics[name] }));
}

// The slow-start threshold is infinite, or nearly so, until the first reduction; it must not determine the scale.
function withoutHugeThreshold(series) {
  const most = series.filter(({ kind }) => kind === "step").reduce((top, { v }) => v.reduce((a, b) => Math.max(a, b), top), 0);
  const finite = derived(({ t, v, detail: all }) => {
    const kept = Array.from(v.keys()).filter((i) => v[i] <= 4 * most);
    return { t: kept.map((i) => t[i]), v: kept.map((i) => v[i]), detail: all };
  });
  return series.map((item) => (item.kind === "dash" ? { ...item, ...finite(item), at: (from, to) => finite(item.at(from, to)) } : item));
}

function windowSpec(end, until) {
  const series = withoutHugeThreshold(linesOf(end, WINDOW_LINES, until));
  series.push({ label: "declared lost", kind: "cross", colour: "vermillion", t: end.lost.t, text: (i) => `declared lost ${time(end.lost.t[i])}` });
  return { title: "Congestion window and bytes in flight", unit: "B", height: 230, series, bands: end.phases, end: recorded(end, until), gap: gapOf(end, until) };
}

const rttSpec = (end, until) => ({ title: "Round-trip time", unit: "us", height: 150, series: linesOf(end, RTT_LINES, until), gap: gapOf(end, until) });

function pacingSpec(end, until) {
  const rate = end.metrics.pacing_rate_mbps;
  return { title: "Pacing rate", unit: "kbps", height: 130, series: rate ? [{ label: "pacing rate", kind: "step", colour: "blue", until: recorded(end, until), ...rate }] : [], gap: gapOf(end, until) };
}

// Packet numbers of the application's space; the handshake spaces also start at 0. Many packets are shown as the ranges
// of their numbers, those that were lost one by one.
function sentPoints(arrows) {
  const split = derived((view) => {
    const all = Array.from(view.time.keys()).filter((i) => view.space[i] >= 2 && view.fate[i] !== RECEIVED);
    const bad = (i) => view.fate[i] === DROPPED || view.declared[i] > 0;
    const pick = (label, chosen) => ({
      t: chosen.map((i) => view.time[i]), v: chosen.map((i) => view.number[i]),
      text: (k) => `${label}: packet ${number(view.number[chosen[k]])} at ${time(view.time[chosen[k]])}`,
    });
    const good = pick("sent", all.filter((i) => !bad(i)));
    const lost = pick("sent, and dropped or declared lost", all.filter(bad));
    return [view.detail ? { kind: "points", ...good } : { kind: "range", ...arrows.range }, { kind: "cross", ...lost }];
  });
  const series = (which, label, colour) => ({
    label, colour, sampled: arrows.sampled, ...split(arrows.first)[which], at: (from, to) => split(arrows.at(from, to))[which],
  });
  return [series(0, "sent", "blue"), series(1, "sent, and dropped or declared lost", "vermillion")];
}

function numbersSpec(connection, which, until) {
  const end = connection.ends[which];
  const series = sentPoints(connection.arrows[which]);
  const label = end.acks.are === "count" ? "packets acknowledged so far" : "largest acknowledged";
  // where acknowledgements were left out nothing is known between two of them
  const kind = end.acks.complete ? "step" : "points";
  const fewer = end.acks.complete ? {} : {
    fewer: "some acknowledgements only, as points",
    how: "first, lowest, highest and last in each part of the time; zoom in for more",
  };
  series.push({ label, kind, colour: "green", until: recorded(end, until), ...end.acks, ...fewer });
  const known = Array.from(end.lost.n.keys()).filter((i) => end.lost.n[i] >= 0);
  series.push({
    label: "when declared lost", kind: "plus", colour: "orange",
    t: known.map((i) => end.lost.t[i]), v: known.map((i) => end.lost.n[i]),
    text: (k) => `packet ${number(end.lost.n[known[k]])} declared lost ${time(end.lost.t[known[k]])}`,
  });
  return { title: "Packet numbers: sent, acknowledged, lost", unit: "number", height: 230, series, floating: true, gap: gapOf(end, until) };
}

function congestionSpecs(side, until) {
  const end = side.connection.ends[side.which];
  if (!end) return [];
  return [
    ["window", windowSpec(end, until)], ["limits", limitsSpec(end, until)], ["rtt", rttSpec(end, until)],
    ["pacing", pacingSpec(end, until)], ["numbers", numbersSpec(side.connection, side.which, until)],
  ];
}
