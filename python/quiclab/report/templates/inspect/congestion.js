// Window, RTT, pacing and packet numbers of one end.

const WINDOW_LINES = [
  ["cwnd_bytes", "congestion window", "step", "blue"],
  ["in_flight_bytes", "in flight", "step", "orange"],
  ["ssthresh_bytes", "slow-start threshold", "dash", "purple"],
];
const RTT_LINES = [
  ["latest_rtt_ms", "latest", "step", "sky"],
  ["srtt_ms", "smoothed", "step", "blue"],
  ["min_rtt_ms", "least", "dash", "green"],
];

function linesOf(end, lines, until) {
  return lines.filter(([name]) => end.metrics[name]).map(([name, label, kind, colour]) => ({ label, kind, colour, until, ...end.metrics[name] }));
}

// The slow-start threshold is infinite, or nearly so, until the first reduction; it must not determine the scale.
function withoutHugeThreshold(series) {
  const most = series.filter(({ kind }) => kind === "step").reduce((top, { v }) => v.reduce((a, b) => Math.max(a, b), top), 0);
  return series.map((item) => {
    if (item.kind !== "dash") return item;
    const kept = Array.from(item.v.keys()).filter((i) => item.v[i] <= 4 * most);
    return { ...item, t: kept.map((i) => item.t[i]), v: kept.map((i) => item.v[i]) };
  });
}

function windowSpec(end, until) {
  const series = withoutHugeThreshold(linesOf(end, WINDOW_LINES, until));
  series.push({ label: "declared lost", kind: "cross", colour: "vermillion", t: end.lost.t, text: (i) => `declared lost ${time(end.lost.t[i])}` });
  return { title: "Congestion window and bytes in flight", unit: "B", height: 230, series, bands: end.phases, end: until };
}

const rttSpec = (end, until) => ({ title: "Round-trip time", unit: "us", height: 150, series: linesOf(end, RTT_LINES, until) });

function pacingSpec(end, until) {
  const rate = end.metrics.pacing_rate_mbps;
  return { title: "Pacing rate", unit: "kbps", height: 130, series: rate ? [{ label: "pacing rate", kind: "step", colour: "blue", until, ...rate }] : [] };
}

// Packet numbers of the application's space; the handshake spaces also start at 0.
function sentPoints(arrows) {
  const all = Array.from(arrows.time.keys()).filter((i) => arrows.space[i] >= 2 && arrows.fate[i] !== RECEIVED);
  const pick = (label, kind, colour, chosen) => ({
    label, kind, colour, t: chosen.map((i) => arrows.time[i]), v: chosen.map((i) => arrows.number[i]),
    text: (k) => `${label}: packet ${number(arrows.number[chosen[k]])} at ${time(arrows.time[chosen[k]])}`,
  });
  const bad = (i) => arrows.fate[i] === DROPPED || arrows.declared[i] > 0;
  return [
    pick("sent", "points", "blue", all.filter((i) => !bad(i))),
    pick("sent, and dropped or declared lost", "cross", "vermillion", all.filter(bad)),
  ];
}

function numbersSpec(connection, which, until) {
  const end = connection.ends[which];
  const series = sentPoints(connection.arrows[which]);
  const label = end.acks.are === "count" ? "packets acknowledged so far" : "largest acknowledged";
  series.push({ label, kind: "step", colour: "green", until, t: end.acks.t, v: end.acks.v });
  const known = Array.from(end.lost.n.keys()).filter((i) => end.lost.n[i] >= 0 );
  series.push({
    label: "when declared lost", kind: "plus", colour: "orange",
    t: known.map((i) => end.lost.t[i]), v: known.map((i) => end.lost.n[i]),
    text: (k) => `packet ${number(end.lost.n[known[k]])} declared lost ${time(end.lost.t[known[k]])}`,
  });
  return { title: "Packet numbers: sent, acknowledged, lost", unit: "number", height: 230, series, floating: true };
}

function congestionSpecs(side, until) {
  const end = side.connection.ends[side.which];
  if (!end) return [];
  return [
    ["window", windowSpec(end, until)], ["rtt", rttSpec(end, until)],
    ["pacing", pacingSpec(end, until)], ["numbers", numbersSpec(side.connection, side.which, until)],
  ];
}
