// One row for each stream, a bar for each frame; the first row has all of them.

const ROW_HEIGHTS = [22, 6];
const STREAMS_MAX_HEIGHT = 640;

// The frames of each stream, from rows of all.
function byStream(streams) {
  return derived((view) => {
    const rows = streams.map(() => []);
    for (let i = 0; i < view.t.length; i += 1) rows[view.stream[i]].push(i);
    return rows.map((chosen) => ({
      t: chosen.map((i) => view.t[i]), offset: chosen.map((i) => view.offset[i]), length: chosen.map((i) => view.length[i]),
      again: new Set(chosen.flatMap((i, k) => (view.again[i] ? [k] : []))),
    }));
  });
}

function streamsSpec(side, until) {
  const end = side.connection.ends[side.which];
  if (!end?.frames.of) return null;
  const split = byStream(end.streams);
  const seen = split(end.frames.overview);
  const streams = end.streams.map((stream, index) => ({ ...stream, index })).filter(({ index }) => seen[index].t.length);
  const rows = [{ label: "all", parts: streams.map((stream, place) => ({ stream, colour: CYCLE[place % CYCLE.length] })) }];
  streams.forEach((stream, place) => {
    rows.push({ label: `${stream.id} ${stream.direction}`, parts: [{ stream, colour: CYCLE[place % CYCLE.length] }] });
  });
  const row = Math.max(ROW_HEIGHTS[1], Math.min(ROW_HEIGHTS[0], STREAMS_MAX_HEIGHT / rows.length));
  const frames = (from, to) => end.frames.at(from, to);
  const spec = {
    title: "Streams by their number", rows, height: MARGIN.top + MARGIN.bottom + row * rows.length,
    legend: [{ label: "bytes sent or received before", kind: "box", colour: "text" }],
    series: [{ ...end.frames.overview, kind: "points", at: frames, how: "one frame in each part of the time; zoom in for all" }], gap: gapOf(end, until),
    paint: (context, plot, from, to) => drawRows(context, spec, plot, from, to, split(frames(from, to))),
    tip: (plot, x, y) => rowTip(spec, plot, x, y, split(frames(plot.timeWindow.from, plot.timeWindow.to))),
  };
  return spec;
}

function rowBox(plot, rows, index) {
  const { top, bottom } = plot.frame;
  const height = (bottom - top) / rows.length;
  return { y: top + index * height, height };
}

function drawRows(context, spec, plot, from, to, frames) {
  spec.rows.forEach((row, index) => {
    const { y, height } = rowBox(plot, spec.rows, index);
    for (const { stream, colour } of row.parts) drawFrames(context, frames[stream.index], colour, plot, from, to, y, height);
  });
  context.restore();
  context.save();
  context.fillStyle = theme.soft;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every = Math.ceil(11 / rowBox(plot, spec.rows, 0).height);
  spec.rows.forEach((row, index) => {
    const { y, height } = rowBox(plot, spec.rows, index);
    if (index % every === 0) context.fillText(row.label, MARGIN.left - 5, y + height / 2);
  });
}

// The width of a bar is the time to the next frame of the stream, at most a few pixels.
function drawFrames(context, stream, colour, plot, from, to, y, height) {
  const end = lowerBound(stream.t, to + 1);
  const marks = [];
  context.fillStyle = theme[colour];
  for (let i = lowerBound(stream.t, from); i < end; i += 1) {
    const x = plot.x(stream.t[i]);
    const next = i + 1 < end ? plot.x(stream.t[i + 1]) - x : 4;
    context.fillRect(x, y + height * 0.12, Math.max(0.7, Math.min(4, next * 0.8)), height * 0.56);
    if (stream.again.has(i)) marks.push(x);
  }
  context.fillStyle = theme.text;
  for (const x of marks) context.fillRect(x, y + height * 0.7, 1.5, height * 0.24);
}

function rowTip(spec, plot, x, y, frames) {
  const { top, bottom } = plot.frame;
  const row = spec.rows[Math.floor(((y - top) / (bottom - top)) * spec.rows.length)];
  if (!row) return [];
  const at = plot.time(x);
  let best = { distance: plot.time(x + 8) - at };
  for (const { stream } of row.parts) {
    const { t } = frames[stream.index];
    for (const i of [lowerBound(t, at) - 1, lowerBound(t, at)]) {
      const distance = Math.abs(t[i] - at);
      if (distance < best.distance) best = { distance, stream, i };
    }
  }
  if (!best.stream) return [];
  const { stream, i } = best;
  const { t, offset, length, again } = frames[stream.index];
  const bytes = `bytes ${number(offset[i])} to ${number(offset[i] + length[i])}${again.has(i) ? ", again" : ""}`;
  return [`stream ${stream.id} ${stream.direction} ${time(t[i])}`, bytes];
}
