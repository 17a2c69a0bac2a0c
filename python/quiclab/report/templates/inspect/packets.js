// Contents and lengths of packets, over the whole recording.

const BIN = 50;
const KIND_COLOURS = { stream: "blue", crypto: "orange", ack: "green", padding: "grey", datagram: "sky", "delivered to the application": "blue" };

// Bytes of each kind of frame as a whole bar, and the bytes outside of frames (`rest`, such as headers).
function composition(end) {
  const kinds = [...end.kinds].sort((a, b) => b[2] - a[2]);
  const total = (end.bytes[0] ?? 0) + (end.bytes[1] ?? 0);
  const framed = kinds.reduce((sum, [, , bytes]) => sum + bytes, 0);
  const parts = kinds.map(([kind, count, bytes]) => ({ kind, count, bytes, colour: KIND_COLOURS[kind] ?? "purple" }));
  if (total > framed) parts.push({ kind: end.rest, count: null, bytes: total - framed, colour: "vermillion" });
  return { parts, total: Math.max(total, framed) };
}

function drawComposition(parent, end) {
  parent.append(element("h3", { text: "Bytes sent and received, by type" }));
  if (!end.kinds.length) {
    parent.append(element("p", { class: "empty", text: "The contents of packets are known from qlog only, and no qlog was recorded." }));
    return;
  }
  const { parts, total } = composition(end);
  const bar = element("div", { class: "stack", role: "img", "aria-label": "Shares, as in the table below" });
  const rows = element("table", { class: "kinds" }, headRow(["", "frames", "bytes", "share"]));
  for (const { kind, count, bytes, colour } of parts) {
    const share = (100 * bytes) / (total || 1);
    bar.append(element("div", { style: `width:${share}%;background:var(--${colour})`, title: `${kind}: ${share.toFixed(2)} %` }));
    const swatch = element("i", { class: "box", style: `display:inline-block;width:.7rem;height:.7rem;margin-right:.4rem;background:var(--${colour})` });
    const cells = [number(count), bytes ? number(bytes) : "–", bytes ? `${share.toFixed(2)} %` : "–"].map((text) => element("td", { text }));
    rows.append(element("tr", {}, element("th", { scope: "row" }, swatch, ...breakable(kind)), ...cells));
  }
  parent.append(bar, element("div", { class: "scroll" }, rows), element("p", { class: "soft", text: end.kinds_note }));
}

// A name, which may be broken after each underscore.
const breakable = (name) => name.split(/(?<=_)/).flatMap((part, index) => (index ? [element("wbr"), part] : [part]));

const headRow = (texts) => element("thead", {}, element("tr", {}, ...texts.map((text) => element("th", { scope: "col", text }))));

function histogram(end) {
  const bins = new Map();
  for (const [bytes, sent, received] of end.sizes) {
    const bin = Math.floor(bytes / BIN);
    const counts = bins.get(bin) ?? [0, 0];
    bins.set(bin, [counts[0] + sent, counts[1] + received]);
  }
  return bins;
}

// The maximum bar and the last bin of both sides, so that their histograms can be compared.
function histogramScale(ends) {
  let [most, last] = [1, 1];
  for (const end of ends) {
    for (const [bin, counts] of histogram(end)) {
      most = Math.max(most, ...counts);
      last = Math.max(last, bin + 1);
    }
  }
  return { most, last };
}

function svg(tag, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function drawHistogram(parent, end, { most, last }) {
  parent.append(element("h3", { text: "Lengths of packets" }));
  if (!end.sizes.length) {
    parent.append(element("p", { class: "empty", text: "No packets were recorded." }));
    return;
  }
  parent.append(legend([{ label: "sent", kind: "box", colour: "blue" }, { label: "received", kind: "box", colour: "orange" }]));
  const [width, height, left, base] = [640, 176, 52, 140];
  const image = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Histogram of the lengths of packets" });
  const step = (width - left - 8) / last;
  for (const value of ticks(0, most, 4).found) {
    const y = base - (value / most) * (base - 12);
    image.append(svg("line", { x1: left, x2: width - 8, y1: y, y2: y, stroke: "var(--grid)" }));
    image.append(svg("text", { x: left - 5, y: y + 4, "text-anchor": "end" }, number(value, 0)));
  }
  for (const [bin, counts] of histogram(end)) {
    counts.forEach((count, index) => {
      const tall = (count / most) * (base - 12);
      const bar = svg("rect", { x: left + (bin + 0.08 + 0.42 * index) * step, y: base - tall, width: step * 0.42, height: tall, fill: `var(--${["blue", "orange"][index]})` });
      bar.append(svg("title", {}, `${bin * BIN} to ${(bin + 1) * BIN - 1} B: ${number(count)} ${["sent", "received"][index]}`));
      image.append(bar);
    });
  }
  for (const value of ticks(0, last * BIN, 8).found) {
    image.append(svg("text", { x: left + (value / BIN) * step, y: base + 15, "text-anchor": "middle" }, number(value, 0)));
  }
  image.append(svg("text", { x: width - 8, y: base + 29, "text-anchor": "end" }, `length [B], in steps of ${BIN} B`));
  parent.append(image);
}
