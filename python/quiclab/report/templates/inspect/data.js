// The data of the page. Columns are differences from one number to the next; times are in µs.

function sums(differences) {
  const values = new Float64Array(differences.length);
  let total = 0;
  for (let i = 0; i < differences.length; i += 1) {
    total += differences[i];
    values[i] = total;
  }
  return values;
}

const samples = (columns) => ({ t: sums(columns.t), v: sums(columns.v) });

function decodeArrows(columns) {
  const arrows = { contents: columns.contents };
  for (const name of ["time", "flight", "fate", "number", "space", "bytes", "frames", "declared"]) {
    arrows[name] = sums(columns[name]);
  }
  arrows.count = arrows.time.length;
  arrows.longest = arrows.flight.reduce((most, flight) => Math.max(most, Math.abs(flight)), 0);
  return arrows;
}

function decodeStream(stream) {
  const again = new Set(stream.again);
  return { ...stream, t: sums(stream.t), offset: sums(stream.offset), length: sums(stream.length), again };
}

function decodeEnd(end) {
  if (!end) return null;
  const metrics = {};
  for (const [name, columns] of Object.entries(end.metrics)) metrics[name] = samples(columns);
  return {
    ...end, metrics, streams: end.streams.map(decodeStream),
    acks: { ...samples(end.acks), are: end.acks.are },
    lost: { t: sums(end.lost.t), n: sums(end.lost.n) },
  };
}

function decodeConnection(connection) {
  return { ...connection, ends: connection.ends.map(decodeEnd), arrows: connection.arrows.map(decodeArrows) };
}

function decodeLink(link) {
  return {
    ...link, drops: sums(link.drops), changes: { ...samples(link.changes), text: link.changes.text },
    queue: link.queue && samples(link.queue), rate: link.rate && samples(link.rate),
  };
}

function readSides() {
  const sides = JSON.parse(document.getElementById("data").textContent).sides;
  return sides.map((side, index) => ({
    ...side, key: "AB"[index], links: side.links.map(decodeLink), chosen: 0, which: 0, decoded: [],
    get connection() {
      this.decoded[this.chosen] ??= decodeConnection(this.connections[this.chosen]);
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
