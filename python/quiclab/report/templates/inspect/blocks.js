// Columns that are large: an overview of all rows, and all rows in blocks, which are read when a short time is shown.
//
// A block is base64 of a raw deflate stream; see quiclab/analysis/inspect/blocks.py for what it holds.

const DETAIL_ROWS = 150_000;
const detail = { read: new Map(), asked: new Set(), failed: "", changed: () => {} };

function sums(differences) {
  const values = new Float64Array(differences.length);
  let total = 0;
  for (let i = 0; i < differences.length; i += 1) {
    total += differences[i];
    values[i] = total;
  }
  return values;
}

function decodeBlock(bytes, names) {
  let place = 0;
  const next = () => {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = bytes[place];
      place += 1;
      value += (byte & 127) * scale;
      if (byte < 128) return value % 2 ? -(value + 1) / 2 : value / 2;
      scale *= 128;
    }
  };
  const columns = {};
  for (const name of names) {
    const values = new Float64Array(next());
    let total = 0;
    for (let i = 0; i < values.length; i += 1) {
      total += next();
      values[i] = total;
    }
    columns[name] = values;
  }
  return columns;
}

// Blocks follow the script in the file: the charts are drawn before a browser has parsed them.
async function blockText(identity) {
  if (!document.getElementById(identity) && document.readyState !== "complete") {
    await new Promise((done) => { addEventListener("load", done, { once: true }); });
  }
  return document.getElementById(identity).textContent;
}

async function readBlock(identity, names) {
  if (detail.asked.has(identity)) return;
  detail.asked.add(identity);
  try {
    const text = atob(await blockText(identity));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const plain = new Uint8Array(await new Response(stream).arrayBuffer());
    detail.read.set(identity, decodeBlock(plain, names));
  } catch (error) {
    detail.failed = `details cannot be read in this browser: ${error.message}`;
  }
  detail.changed();
}

class Store {
  // `before`: how much earlier than its own time a row still matters.
  constructor(key, columns, names, before = 0) {
    Object.assign(this, { key, names, before, of: columns.of ?? columns[names[0]].length });
    this.overview = { detail: !columns.tiles };
    for (const name of names) this.overview[name] = sums(columns[name]);
    this.tiles = columns.tiles && { ...columns.tiles, t: sums(columns.tiles.t) };
  }

  // All rows of a time if they are few enough and have been read, otherwise the overview. The row before `from` is in
  // either. The same time gives the same object.
  at(from, to, most = DETAIL_ROWS) {
    if (!this.tiles) return this.overview;
    const { t, n, first } = this.tiles;
    const start = Math.max(0, lowerBound(t, from - this.before) - 1);
    const end = Math.max(start + 1, lowerBound(t, to + 1));
    let rows = 0;
    for (let i = start; i < end; i += 1) rows += n[i];
    if (rows > most) return this.overview;
    if (this.last?.start === start && this.last.end === end) return this.last.view;
    const identities = n.slice(start, end).map((_, i) => `${this.key}${first + start + i}`);
    const missing = identities.filter((identity) => !detail.read.has(identity));
    if (missing.length) {
      for (const identity of missing) readBlock(identity, this.names);
      return this.overview;
    }
    const view = { detail: true };
    for (const name of this.names) view[name] = joined(identities.map((identity) => detail.read.get(identity)[name]), rows);
    this.last = { start, end, view };
    return view;
  }
}

function joined(parts, rows) {
  const whole = new Float64Array(rows);
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}

// What is derived from rows, computed once for the same rows.
function derived(compute) {
  const known = new WeakMap();
  return (view) => {
    if (!known.has(view)) known.set(view, compute(view));
    return known.get(view);
  };
}
