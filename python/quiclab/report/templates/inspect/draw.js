// Series of a chart: steps, points, crosses, bands.
//
// A series is { label, kind, colour, t, v }; `at(from, to)`, if it has it, gives what of these depends on the time shown. Kinds: `step` and `dash` hold a value until the next, `points`, `cross` and
// `plus` are single marks; a cross without `v` is at the lower edge. A point can have its own text: `text(i)`. A `range`
// has for each part of the time, `width` long from `t` on, the values `low` and `high` of its `n` points. `fewer` says for
// the note of the chart that a series lacks some of its points.

// Colours of states of qlog that are not phases; those of the phases come with the data (readSides).
const BANDS = { recovery: "vermillion", application_limited: "grey" };
const bandColour = (state) => BANDS[state] ?? "orange";
const words = (state) => state.replaceAll("_", " ");

function line(context, colour, x0, y0, x1, y1) {
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

function cross(context, x, y, size) {
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x - size, y + size);
  context.lineTo(x + size, y - size);
}

function plus(context, x, y, size) {
  context.moveTo(x - size, y);
  context.lineTo(x + size, y);
  context.moveTo(x, y - size);
  context.lineTo(x, y + size);
}

const SYMBOLS = { cross, plus };
const SINGLE = new Set(["points", "cross", "plus"]);

function legendOf(spec) {
  const items = spec.series.filter((item) => item.t.length).map(({ label, kind, colour }) => ({ label, kind, colour }));
  const states = [...new Set((spec.bands ?? []).map(([, state]) => state))];
  if (!items.length) return [{ label: "not recorded", kind: "points", colour: "line" }];
  return [...items, ...states.map((state) => ({ label: words(state), kind: "box", colour: bandColour(state), opacity: 0.35 }))];
}

// Minimum and maximum in a time window; a step that began earlier counts.
function extent(allSeries, from, to) {
  let least = Infinity;
  let most = 0;
  for (const { t, v, kind, low, high } of allSeries) {
    if (kind === "range") {
      for (let i = Math.max(0, lowerBound(t, from) - 1); i < lowerBound(t, to); i += 1) {
        most = Math.max(most, high[i]);
        least = Math.min(least, low[i]);
      }
    }
    if (!v) continue;
    const held = SINGLE.has(kind) ? 0 : 1;
    const end = lowerBound(t, to);
    for (let i = Math.max(0, lowerBound(t, from) - held); i < end; i += 1) {
      if (v[i] > most) most = v[i];
      if (v[i] < least) least = v[i];
    }
  }
  return [least, most];
}

function drawBands(context, spec, plot, from, to) {
  const { top, bottom } = plot.frame;
  (spec.bands ?? []).forEach(([start, state], index) => {
    const end = spec.bands[index + 1]?.[0] ?? spec.end;
    if (end < from || start > to) return;
    const x = plot.x(Math.max(start, from));
    context.globalAlpha = 0.13;
    context.fillStyle = theme[bandColour(state)];
    context.fillRect(x, top, Math.max(plot.x(Math.min(end, to)) - x, 0.5), bottom - top);
    context.globalAlpha = 1;
  });
}

function drawStep(context, { t, v, colour, kind, until }, plot, from, to) {
  context.strokeStyle = theme[colour];
  context.lineWidth = 1.6;
  context.setLineDash(kind === "dash" ? [5, 4] : []);
  context.beginPath();
  const first = Math.max(0, lowerBound(t, from) - 1);
  let y = plot.y(v[first]);
  if (t.length === 1) cross(context, plot.x(t[0]), y, 3); // a single sample has no line
  context.moveTo(plot.x(t[first]), y);
  let i = first + 1;
  for (; i < t.length && t[i - 1] <= to; i += 1) {
    const x = plot.x(t[i]);
    context.lineTo(x, y);
    y = plot.y(v[i]);
    context.lineTo(x, y);
  }
  if (i >= t.length && until > t[t.length - 1]) context.lineTo(plot.x(Math.min(until, to)), y);
  context.stroke();
  context.setLineDash([]);
  context.lineWidth = 1;
}

function drawRanges(context, { t, low, high, width, colour }, plot, from, to) {
  context.fillStyle = theme[colour];
  const end = lowerBound(t, to + 1);
  for (let i = Math.max(0, lowerBound(t, from - width)); i < end; i += 1) {
    const [x, y] = [plot.x(t[i]), plot.y(high[i])];
    context.fillRect(x, y - 1, Math.max(plot.x(t[i] + width) - x, 1), plot.y(low[i]) - y + 2);
  }
}

// Where the recording has ended although the run has not: hatched, and no line goes on.
function gapOf(end, until) {
  return end.ends !== null && end.ends < until ? [end.ends, until] : null;
}

function drawGap(context, { gap }, plot) {
  if (!gap) return;
  const { top, bottom } = plot.frame;
  const [left, right] = gap.map(plot.x);
  context.save();
  context.beginPath();
  context.rect(left, top, right - left, bottom - top);
  context.clip();
  context.globalAlpha = 0.5;
  for (let x = Math.max(left, plot.frame.left) - (bottom - top); x < Math.min(right, plot.frame.right); x += 9) {
    line(context, theme.soft, x, bottom, x + (bottom - top), top);
  }
  context.restore();
  if (right - left < 80) return;
  context.fillStyle = theme.text;
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText("not recorded", Math.max(left, plot.frame.left) + 6, top + 4);
}

// Says under which limit a chart shows what it shows.
function noteOf(spec, allSeries) {
  const notes = [];
  const rough = allSeries.find(({ kind, detail: all }) => kind === "range" || all === false);
  if (detail.failed && rough) notes.push(detail.failed);
  else if (rough?.kind === "range") notes.push(`ranges of ${time(rough.width)}; zoom in for single packets`);
  else if (rough) notes.push(rough.how ?? "first, lowest, highest and last in each part of the time; zoom in for all");
  const sampled = Math.max(1, ...allSeries.map((series) => series.sampled ?? 1));
  const fewer = allSeries.map((series) => series.fewer).filter(Boolean);
  if (sampled > 1) fewer.unshift(`one packet in ${sampled}, and those lost`);
  if (fewer.length) notes.push(...fewer, "--from and --to show all");
  return notes.length ? ` (${notes.join("; ")})` : "";
}

function drawPoints(context, { t, v, colour }, plot, from, to) {
  context.fillStyle = theme[colour];
  const end = lowerBound(t, to + 1);
  const first = lowerBound(t, from);
  const side = end - first > 2000 ? 2 : 3;
  for (let i = first; i < end; i += 1) {
    // aligned to pixels; otherwise small squares fade
    context.fillRect(Math.round(plot.x(t[i]) - side / 2), Math.round(plot.y(v[i]) - side / 2), side, side);
  }
}

function drawSymbols(context, { t, v, colour, kind }, plot, from, to) {
  const symbol = SYMBOLS[kind];
  context.strokeStyle = theme[colour];
  context.lineWidth = 1.4;
  context.beginPath();
  const end = lowerBound(t, to + 1);
  for (let i = lowerBound(t, from); i < end; i += 1) symbol(context, plot.x(t[i]), v ? plot.y(v[i]) : plot.frame.bottom - 5, 3);
  context.stroke();
  context.lineWidth = 1;
}

function drawSeries(context, spec, plot, from, to) {
  drawBands(context, spec, plot, from, to);
  for (const series of plot.series) {
    if (!series.t.length) continue;
    if (series.kind === "range") drawRanges(context, series, plot, from, to);
    else if (series.kind === "points") drawPoints(context, series, plot, from, to);
    else if (SYMBOLS[series.kind]) drawSymbols(context, series, plot, from, to);
    else drawStep(context, series, plot, from, to);
  }
}

function nearestPoint({ t, v }, plot, x, y) {
  const reach = plot.time(x + 6) - plot.time(x);
  const at = plot.time(x);
  let best = { distance: 8, index: -1 };
  const end = lowerBound(t, at + reach);
  for (let i = lowerBound(t, at - reach); i < end; i += 1) {
    const down = v ? plot.y(v[i]) - y : plot.frame.bottom - 5 - y;
    const distance = Math.hypot(plot.x(t[i]) - x, down);
    if (distance < best.distance) best = { distance, index: i };
  }
  return best.index;
}

function seriesTip(spec, plot, x, y) {
  const at = plot.time(x);
  const lines = [];
  for (const series of plot.series) {
    const { t, v, label, kind } = series;
    if (kind === "range") {
      const i = lowerBound(t, at + 1e-6) - 1;
      if (i >= 0 && at < t[i] + series.width) lines.push(`${label}: ${number(series.n[i])} packets, ${number(series.low[i])} to ${number(series.high[i])}`);
    } else if (SINGLE.has(kind)) {
      const index = nearestPoint(series, plot, x, y);
      if (index >= 0) lines.push(series.text ? series.text(index) : `${label} at ${time(t[index])}`);
    } else if (t.length && at >= t[0] && at <= (series.until ?? Infinity)) {
      lines.push(`${label}: ${quantity(v[lowerBound(t, at + 1e-6) - 1], spec.unit)}`);
    }
  }
  const state = (spec.bands ?? []).filter(([start]) => start <= at).pop();
  return state ? [...lines, words(state[1])] : lines;
}

function quantity(value, unit) {
  const [size, name] = unitOf(unit ?? "number", Math.abs(value));
  return `${number(value / size, size === 1 ? 0 : 2)} ${name}`.trim();
}
