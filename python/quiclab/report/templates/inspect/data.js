// The data of the page. Columns are differences from one number to the next; times are in µs.

const ARROW_COLUMNS = ["time", "flight", "fate", "number", "space", "path", "bytes", "frames", "declared"];
const FRAME_COLUMNS = ["t", "stream", "offset", "length", "again"];

// A step line: the samples of the overview, and `at(from, to)` for those of a time.
function samples(key, columns) {
  const store = new Store(key, columns, ["t", "v"]);
  return { ...store.overview, at: (from, to) => store.at(from, to) };
}

function decodeArrows(key, columns) {
  const whole = new Float64Array(columns.flight.length ? sums(columns.flight) : []);
  const longest = columns.longest ?? whole.reduce((most, flight) => Math.max(most, Math.abs(flight)), 0);
  const store = new Store(key, columns, ARROW_COLUMNS, longest);
  const { range } = columns;
  return {
    contents: columns.contents, longest, store, count: store.of, sampled: columns.sampled, step: columns.step ?? 1,
    first: store.overview, at: (from, to, most) => store.at(from, to, most),
    range: range && { ...range, t: sums(range.t), low: sums(range.low), high: sums(range.high) },
  };
}

function decodeLimits(key, limits) {
  return limits && { ...limits, ...samples(key, limits) };
}

function decodeEnd(key, end) {
  if (!end) return null;
  const metrics = {};
  for (const [name, columns] of Object.entries(end.metrics)) metrics[name] = samples(key, columns);
  return {
    ...end, metrics, frames: new Store(key, end.frames, FRAME_COLUMNS), limits: decodeLimits(key, end.limits),
    acks: { ...samples(key, end.acks), are: end.acks.are, complete: end.acks.complete },
    lost: { t: sums(end.lost.t), n: sums(end.lost.n) },
  };
}

function decodeConnection(key, connection) {
  return {
    ...connection, ends: connection.ends.map((end) => decodeEnd(key, end)),
    arrows: connection.arrows.map((columns) => decodeArrows(key, columns)),
  };
}

function decodeLink(key, link) {
  return {
    ...link, drops: sums(link.drops), changes: { t: sums(link.changes.t), v: sums(link.changes.v), text: link.changes.text },
    queue: link.queue && samples(key, link.queue), rate: link.rate && samples(key, link.rate),
  };
}

function readSides() {
  const { sides, phases } = JSON.parse(document.getElementById("data").textContent);
  Object.assign(BANDS, phases);
  return sides.map((side, index) => ({
    ...side, key: "AB"[index], links: side.links.map((link) => decodeLink("AB"[index], link)), chosen: 0, which: 0, decoded: [],
    get connection() {
      this.decoded[this.chosen] ??= decodeConnection(this.key, this.connections[this.chosen]);
      return this.decoded[this.chosen];
    },
  }));
}

// Index of the first value that is at least `wanted`; values ascend.
function lowerBound(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The window of the endpoint that sends most is the relevant one.
function busiestEnd(connection) {
  const sent = connection.ends.map((end) => (end ? (end.bytes[0] ?? 0) + Object.keys(end.metrics).length / 100 : -1));
  return sent[1] >= sent[0] ? 1 : 0;
}
