// One row for each stream, a bar for each frame; the first row has all of them.

const ROW_HEIGHTS = [22, 6];
const STREAMS_MAX_HEIGHT = 640;

function streamsSpec(side) {
  const end = side.connection.ends[side.which];
  const streams = end ? end.streams.filter(({ t }) => t.length) : [];
  if (!streams.length) return null;
  const rows = [{ label: "all", parts: streams.map((stream, index) => ({ stream, colour: CYCLE[index % CYCLE.length] })) }];
  streams.forEach((stream, index) => {
    rows.push({ label: `${stream.id} ${stream.direction}`, parts: [{ stream, colour: CYCLE[index % CYCLE.length] }] });
  });
  const row = Math.max(ROW_HEIGHTS[1], Math.min(ROW_HEIGHTS[0], STREAMS_MAX_HEIGHT / rows.length));
  return {
    title: "Streams by their number", rows, height: MARGIN.top + MARGIN.bottom + row * rows.length,
    legend: [{ label: "bytes sent or received before", kind: "box", colour: "text" }],
  };
}

function rowBox(plot, rows, index) {
  const { top, bottom } = plot.frame;
  const height = (bottom - top) / rows.length;
  return { y: top + index * height, height };
}

function drawRows(context, spec, plot, from, to) {
  spec.rows.forEach((row, index) => {
    const { y, height } = rowBox(plot, spec.rows, index);
    for (const part of row.parts) drawFrames(context, part, plot, from, to, y, height);
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
function drawFrames(context, { stream, colour }, plot, from, to, y, height) {
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

function rowTip(spec, plot, x, y) {
  const { top, bottom } = plot.frame;
  const row = spec.rows[Math.floor(((y - top) / (bottom - top)) * spec.rows.length)];
  if (!row) return [];
  const at = plot.time(x);
  let best = { distance: plot.time(x + 8) - at };
  for (const { stream } of row.parts) {
    for (const i of [lowerBound(stream.t, at) - 1, lowerBound(stream.t, at)]) {
      const distance = Math.abs(stream.t[i] - at);
      if (distance < best.distance) best = { distance, stream, i };
    }
  }
  if (!best.stream) return [];
  const { stream, i } = best;
  const again = stream.again.has(i) ? ", again" : "";
  return [`stream ${stream.id} ${stream.direction} ${time(stream.t[i])}`, `bytes ${number(stream.offset[i])} to ${number(stream.offset[i] + stream.length[i])}${again}`];
}
