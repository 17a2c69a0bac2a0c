// What limits the sender over time: each column of pixels is divided like the time that it stands for.

const CAUSE_COLOURS = ["purple", "blue", "vermillion", "green", "grey"];
const LIMITS_HEIGHT = 78;

function limitsSpec(end, until) {
  const { limits } = end;
  const known = limits && limits.t.length;
  return {
    title: "What limits the sender", height: LIMITS_HEIGHT, series: known ? [{ ...limits, how: "shares of the time; zoom in for single intervals" }] : [], end: until, gap: gapOf(end, until),
    legend: known ? limits.labels.map((label, cause) => ({ label, kind: "box", colour: CAUSE_COLOURS[cause], opacity: 0.8 })) : undefined,
    paint: (context, plot, from, to) => { if (known) drawLimits(context, limits, plot, from, to); },
    tip: (plot, x) => (known ? limitsTip(limits, plot, x) : []),
  };
}

// Time of each cause between two instants, from the changes.
function exactShares({ t, v }, until, from, to, start) {
  const times = new Float64Array(CAUSE_COLOURS.length);
  let i = start;
  for (; i < t.length && t[i] < to; i += 1) {
    const end = Math.min(i + 1 < t.length ? t[i + 1] : until, to);
    times[v[i]] += Math.max(0, end - Math.max(t[i], from));
  }
  return { times, next: Math.max(start, i - 1) };
}

// The same from the overview, whose parts are as wide as a few pixels at most.
function roughShares({ from: first, to: last, shares }, from, to) {
  const count = shares[0].length;
  const place = (time) => Math.min(count - 1, Math.max(0, Math.floor(((time - first) / (last - first)) * count)));
  const times = new Float64Array(CAUSE_COLOURS.length);
  if (to < first || from > last) return times;
  for (let i = place(from); i <= place(to); i += 1) shares.forEach((column, cause) => { times[cause] += column[i]; });
  return times;
}

function drawLimits(context, limits, plot, from, to) {
  const { left, right, top, bottom } = plot.frame;
  const view = limits.at(from, to);
  let start = Math.max(0, lowerBound(view.t, from) - 1);
  for (let x = left; x < right; x += 1) {
    let times;
    if (view.detail) ({ times, next: start } = exactShares(view, limits.until, plot.time(x), plot.time(x + 1), start));
    else times = roughShares(limits, plot.time(x), plot.time(x + 1));
    const whole = times.reduce((a, b) => a + b, 0);
    let y = bottom;
    times.forEach((time, cause) => {
      if (!time) return;
      // a part of an interval at the end of the recording stays a part
      const height = (time / Math.max(whole, view.detail ? plot.time(x + 1) - plot.time(x) : whole)) * (bottom - top);
      context.fillStyle = theme[CAUSE_COLOURS[cause]];
      context.fillRect(x, y - height, 1, height);
      y -= height;
    });
  }
}

function limitsTip(limits, plot, x) {
  const [from, to] = [plot.time(x), plot.time(x + 1)];
  const view = limits.at(plot.timeWindow.from, plot.timeWindow.to);
  if (view.detail) {
    const i = lowerBound(view.t, from + 1e-6) - 1;
    if (i < 0 || from > limits.until) return [];
    const end = i + 1 < view.t.length ? view.t[i + 1] : limits.until;
    return [limits.labels[view.v[i]], `${time(view.t[i])} to ${time(end)}`];
  }
  const times = roughShares(limits, from, to);
  const whole = times.reduce((a, b) => a + b, 0);
  return Array.from(times.keys()).filter((cause) => times[cause]).map((cause) => `${limits.labels[cause]}: ${number((100 * times[cause]) / whole, 0)} %`);
}
