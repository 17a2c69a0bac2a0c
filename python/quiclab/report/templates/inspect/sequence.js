// The sequence diagram: two time axes, an arrow for each packet from where it was sent to where it arrived.

const [ARRIVED, DROPPED, ONE_END, RECEIVED] = [0, 1, 2, 3];
const SPACES = ["Initial", "Handshake", "0-RTT", "1-RTT", ""];
// Paths of Multipath QUIC count their packets apart.
const pathOf = (view, i) => (view.path[i] > 0 ? ` path ${view.path[i]}` : "");
const KINDS = [
  { label: "handshake (crypto)", colour: "orange", kind: "step" },
  { label: "data", colour: "blue", kind: "step" },
  { label: "acknowledgements only (TCP: at most 80 B)", colour: "green", kind: "step" },
  { label: "other, or contents not known", colour: "purple", kind: "step" },
];
const LOST = { label: "did not arrive, or declared lost", colour: "vermillion", kind: "cross" };
const SEQUENCE_HEIGHT = 620;
const FIRST_ARROWS = 60;
const MANY_ARROWS = 400;
// rows of all packets that are looked through for a diagram; of more, some packets are drawn
const DIAGRAM_ROWS = 65_536;
const LABELLED_ARROWS = 45;
// labels are closer to the arrival of a packet: packets of a burst are separate there
const LABEL_AT = 0.72;
const LABEL_HEIGHT = 11;
const LABEL_LENGTH = 52;
// slope of half an arrow in pixels, which distinguishes incoming from outgoing packets
const HALF_FALL = 14;

function kindOf(space, frames) {
  if (space < 2 || frames.includes("crypto")) return 0;
  if (frames.includes("stream") || frames === "data" || frames.includes("datagram")) return 1;
  return frames === "ack" || frames === "ack+padding" || frames.startsWith("little or no data") ? 2 : 3;
}

// The diagram first shows the handshake and some packets after it.
function firstArrows(connection) {
  const times = connection.arrows.flatMap(({ first: { time: sent, flight } }) => {
    const few = Array.from(sent.slice(0, FIRST_ARROWS));
    return few.map((at, i) => at + Math.max(0, flight[i]));
  });
  times.sort((a, b) => a - b);
  return times.length ? times[Math.min(times.length, FIRST_ARROWS) - 1] * 1.05 + 1 : null;
}

class Sequence {
  constructor(parent, side, timeWindow) {
    Object.assign(this, { side, timeWindow, connection: side.connection });
    this.canvas = element("canvas", { class: "sequence", tabindex: "0", role: "img", "aria-label": `${side.key}: packets between client and server` });
    // the packets that are drawn, for scripts and tests
    this.canvas.rows = () => this.visible.map(({ direction, i, view, fate }) => ({
      direction, fate, number: view.number[i], time: view.time[i], flight: view.flight[i], bytes: view.bytes[i],
    }));
    this.note = element("p", { class: "cap" });
    parent.append(this.note, this.canvas);
    timeWindow.listeners.push(() => this.draw());
    this.listen();
  }

  draw() {
    const { context, width } = prepare(this.canvas, SEQUENCE_HEIGHT);
    const { from, to } = this.timeWindow;
    const [top, bottom] = [26, SEQUENCE_HEIGHT - 6];
    this.axes = [74, width - 16];
    this.y = (t) => top + ((t - from) / (to - from)) * (bottom - top);
    this.drawAxes(context, top, bottom);
    context.save();
    context.beginPath();
    context.rect(0, top, width, bottom - top);
    context.clip();
    this.collect(from, to);
    this.drawArrows(context);
    context.restore();
  }

  drawAxes(context, top, bottom) {
    const [left, right] = this.axes;
    for (const { at, text, unit } of timeTicks(this.timeWindow.from, this.timeWindow.to, 12)) {
      const y = Math.round(this.y(at)) + 0.5;
      line(context, theme.grid, left, y, right, y);
      context.fillStyle = theme.soft;
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillText(`${text} ${unit}`, left - 6, y);
    }
    context.textBaseline = "top";
    context.fillStyle = theme.text;
    context.font = "600 12px system-ui, sans-serif";
    const names = this.connection.ends.map((end, index) => end?.role ?? ["client", "server"][index] + " (unknown)");
    context.textAlign = "left";
    context.fillText(names[0], left - 4, 6);
    context.textAlign = "right";
    context.fillText(names[1], right + 4, 6);
    context.font = "11px system-ui, sans-serif";
    for (const x of this.axes) line(context, theme.soft, x + 0.5, top, x + 0.5, bottom);
  }

  // Start and end of the visible arrows on the canvas.
  collect(from, to) {
    this.visible = [];
    const middle = (this.axes[0] + this.axes[1]) / 2;
    const notes = new Set();
    this.connection.arrows.forEach((arrows, direction) => {
      const [start, end] = direction === 0 ? this.axes : [this.axes[1], this.axes[0]];
      const view = arrows.at(from, to, DIAGRAM_ROWS);
      const step = arrows.sampled * (view.detail ? 1 : arrows.step);
      if (step > 1) notes.add(`${["client to server", "server to client"][direction]}: one packet in ${step}, and those lost; ${view.detail ? "--from and --to show all" : "zoom in for all"}`);
      const last = lowerBound(view.time, to + 1);
      for (let i = lowerBound(view.time, from - arrows.longest); i < last; i += 1) {
        if (view.time[i] + Math.max(view.flight[i], 0) < from) continue;
        const fate = view.fate[i];
        const y0 = this.y(view.time[i]) - (fate === RECEIVED ? HALF_FALL : 0);
        const y1 = this.y(view.time[i] + view.flight[i]) + (fate === ONE_END ? HALF_FALL : 0);
        const x0 = fate === RECEIVED ? middle : start;
        const x1 = fate === ARRIVED || fate === RECEIVED ? end : middle;
        const kind = kindOf(view.space[i], arrows.contents[view.frames[i]]);
        this.visible.push({ direction, i, view, x0, y0, x1, y1, fate, kind, lost: fate === DROPPED || view.declared[i] > 0 });
      }
    });
    this.note.textContent = [...notes].join("; ");
  }

  drawArrows(context) {
    const many = this.visible.length > MANY_ARROWS;
    context.globalAlpha = Math.max(0.12, Math.min(1, (1.5 * MANY_ARROWS) / (this.visible.length + 1)));
    const styles = [...KINDS, LOST];
    styles.forEach(({ colour }, style) => {
      context.strokeStyle = theme[colour];
      context.fillStyle = theme[colour];
      context.lineWidth = many ? 0.8 : 1.2;
      context.beginPath();
      for (const arrow of this.visible) {
        if ((arrow.lost ? KINDS.length : arrow.kind) !== style) continue;
        context.moveTo(arrow.x0, arrow.y0);
        context.lineTo(arrow.x1, arrow.y1);
        if (arrow.fate === DROPPED) cross(context, arrow.x1, arrow.y1, many ? 2 : 4);
        else if (!many) arrowHead(context, arrow);
      }
      context.stroke();
    });
    context.globalAlpha = 1;
    context.lineWidth = 1;
    if (this.visible.length <= LABELLED_ARROWS) this.drawLabels(context);
  }

  // Packets on one line share a label; a label that would cover another is omitted.
  drawLabels(context) {
    const ends = [-Infinity, -Infinity];
    let group = [];
    const draw = () => {
      if (!group.length) return;
      const [{ direction, y1 }] = group;
      if (y1 - ends[direction] >= LABEL_HEIGHT) {
        ends[direction] = y1;
        this.drawLabel(context, group[0], this.label(group));
      }
      group = [];
    };
    for (const direction of [0, 1]) {
      for (const arrow of this.visible.filter((item) => item.direction === direction)) {
        if (group.length && Math.abs(arrow.y0 - group[0].y0) + Math.abs(arrow.y1 - group[0].y1) > 2) draw();
        group.push(arrow);
      }
      draw();
    }
  }

  label(group) {
    const { contents } = this.connection.arrows[group[0].direction];
    const name = ({ view, i }) => `${SPACES[view.space[i]]}${pathOf(view, i)} ${view.number[i]}`.trim();
    const [{ view: rows, i: row }] = group;
    const text = group.length > 1 ? group.map(name).join(", ") : `${name(group[0])}: ${contents[rows.frames[row]]}`;
    return text.length > LABEL_LENGTH ? `${text.slice(0, LABEL_LENGTH - 1)}…` : text;
  }

  drawLabel(context, arrow, text) {
    context.save();
    const part = { [ONE_END]: 0.75, [RECEIVED]: 0.25, [DROPPED]: 0.5 }[arrow.fate] ?? LABEL_AT;
    context.translate(arrow.x0 + (arrow.x1 - arrow.x0) * part, arrow.y0 + (arrow.y1 - arrow.y0) * part);
    const angle = Math.atan2(arrow.y1 - arrow.y0, arrow.x1 - arrow.x0);
    context.rotate(arrow.x1 < arrow.x0 ? angle + Math.PI : angle);
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillStyle = theme.text;
    context.font = "10px system-ui, sans-serif";
    context.fillText(text, 0, -1);
    context.restore();
  }

  describe({ direction, i, fate, view }) {
    const { contents } = this.connection.arrows[direction];
    const names = ["client to server", "server to client"];
    const lines = [
      `${SPACES[view.space[i]]} packet ${number(view.number[i])}${pathOf(view, i)}, ${names[direction]}`.trim(),
      `${contents[view.frames[i]] || "contents unknown"}, ${number(view.bytes[i])} B`,
      fate === RECEIVED ? `arrived ${time(view.time[i])}` : `sent ${time(view.time[i])}`,
    ];
    if (fate === ARRIVED) lines.push(`arrived ${time(view.time[i] + view.flight[i])}, after ${time(view.flight[i])}`);
    if (fate === DROPPED) lines.push(view.flight[i] > 0 ? `dropped ${time(view.time[i] + view.flight[i])}` : "did not arrive");
    if (view.declared[i] > 0) lines.push(`declared lost after ${time(view.declared[i])}`);
    return lines.join("\n");
  }

  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = { distance: 7 };
    for (const arrow of this.visible ?? []) {
      const distance = distanceTo(arrow, x, y);
      if (distance < best.distance) best = { distance, arrow };
    }
    if (best.arrow) tip.show(event, this.describe(best.arrow));
    else tip.hide();
  }

  listen() {
    const { canvas, timeWindow } = this;
    let start = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = { y: event.clientY, from: timeWindow.from, to: timeWindow.to };
      canvas.setPointerCapture?.(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!start) return this.hover(event);
      const by = ((start.y - event.clientY) / SEQUENCE_HEIGHT) * (start.to - start.from);
      timeWindow.set(start.from, start.to);
      return timeWindow.move(by);
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { start = null; });
    canvas.addEventListener("pointerleave", () => tip.hide());
    canvas.addEventListener("dblclick", () => timeWindow.home());
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const part = (event.clientY - canvas.getBoundingClientRect().top) / SEQUENCE_HEIGHT;
      timeWindow.zoom(event.deltaY > 0 ? 1.4 : 1 / 1.4, timeWindow.from + part * timeWindow.span);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const name = { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" }[event.key] ?? event.key;
      if (timeWindow.key(name)) event.preventDefault();
    });
  }
}

function arrowHead(context, { x0, y0, x1, y1 }) {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  for (const turn of [-0.35, 0.35]) {
    context.moveTo(x1, y1);
    context.lineTo(x1 - 7 * Math.cos(angle + turn), y1 - 7 * Math.sin(angle + turn));
  }
}

function distanceTo({ x0, y0, x1, y1 }, x, y) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
}
