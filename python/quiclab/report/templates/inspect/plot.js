// A chart over time on a canvas: axes, zoom, hover. Its contents are a list of series (draw.js).
//
// Charts of one group have the same vertical scale: that of all visible data, on both sides.

const MARGIN = { left: 62, right: 12, top: 8, bottom: 24 };
const UNITS = {
  B: [[1e6, "MB"], [1e3, "kB"], [1, "B"]],
  us: [[1e6, "s"], [1e3, "ms"]],
  kbps: [[1e3, "Mbit/s"]],
  packets: [[1, "packets"]],
  number: [[1, ""]],
};

function unitOf(kind, most) {
  const sizes = UNITS[kind];
  return sizes.find(([size]) => most >= 2 * size) ?? sizes[sizes.length - 1];
}

function tickStep(span, count) {
  const raw = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].find((step) => step * power >= raw) * power;
}

function ticks(low, high, count) {
  const step = tickStep(high - low, count);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i += 1) found.push(i * step);
  return { step, found };
}

const decimals = (step) => Math.max(0, -Math.floor(Math.log10(step) + 1e-9));

// Times as strings: in s from two seconds, otherwise in ms.
function timeTicks(from, to, count) {
  const [size, unit] = to - from >= 2e6 ? [1e6, "s"] : [1e3, "ms"];
  const { step, found } = ticks(from / size, to / size, count);
  return found.map((value) => ({ at: value * size, text: grouped(value.toFixed(decimals(step))), unit }));
}

function prepare(canvas, height) {
  const width = Math.max(canvas.clientWidth, 120);
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  return { context, width };
}

class Group {
  constructor() {
    this.plots = [];
  }

  range(from, to) {
    const extents = this.plots.map((plot) => extent(plot.resolve(from, to), from, to));
    const least = Math.min(...extents.map(([value]) => value));
    const high = Math.max(...extents.map(([, value]) => value));
    const low = this.plots[0].spec.floating && Number.isFinite(least) ? least : 0;
    return high > low ? [low, high + (high - low) * 0.06] : [low, low + 1];
  }
}

class Plot {
  constructor(parent, spec, timeWindow, group, actions) {
    Object.assign(this, { spec, timeWindow, group, actions });
    this.note = element("span", { class: "cap" });
    parent.append(element("h3", {}, spec.title, this.note));
    parent.append(legend(spec.legend ?? legendOf(spec)));
    this.canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": `${spec.title}, over time` });
    parent.append(this.canvas);
    // the rows that are drawn, for scripts and tests
    this.canvas.rows = () => this.series;
    group.plots.push(this);
    timeWindow.listeners.push(() => this.draw());
    this.listen();
  }

  get frame() {
    const { width } = this;
    return { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: this.spec.height - MARGIN.bottom };
  }

  // The series with what they have of a time.
  resolve(from, to) {
    return this.spec.series.map((series) => (series.at ? { ...series, ...series.at(from, to) } : series));
  }

  draw() {
    const { context, width } = prepare(this.canvas, this.spec.height);
    this.width = width;
    const { from, to } = this.timeWindow;
    this.series = this.resolve(from, to);
    this.note.textContent = noteOf(this.spec, this.series);
    const [low, high] = this.spec.paint ? [0, 1] : this.group.range(from, to);
    const box = this.frame;
    this.x = (t) => box.left + ((t - from) / (to - from)) * (box.right - box.left);
    this.y = (v) => box.bottom - ((v - low) / (high - low)) * (box.bottom - box.top);
    this.time = (x) => from + ((x - box.left) / (box.right - box.left)) * (to - from);
    this.drawAxes(context, box, low, high);
    context.save();
    context.beginPath();
    context.rect(box.left, box.top - 3, box.right - box.left, box.bottom - box.top + 6);
    context.clip();
    this.actions.band?.(context, this.x, box);
    if (this.spec.paint) this.spec.paint(context, this, from, to);
    else drawSeries(context, this.spec, this, from, to);
    drawGap(context, this.spec, this);
    context.restore();
  }

  drawAxes(context, box, low, high) {
    const [size, name] = unitOf(this.spec.unit ?? "number", high);
    const unit = name.length > 6 ? "" : name; // a long one is in the title
    context.textBaseline = "middle";
    context.textAlign = "right";
    const marks = this.spec.paint ? [] : ticks(low / size, high / size, (box.bottom - box.top) / 32).found;
    const step = marks.length > 1 ? marks[1] - marks[0] : 1;
    marks.forEach((value, index) => {
      const y = Math.round(this.y(value * size)) + 0.5;
      line(context, theme.grid, box.left, y, box.right, y);
      context.fillStyle = theme.soft;
      const text = grouped(value.toFixed(decimals(step)));
      context.fillText(index === marks.length - 1 && unit ? `${text} ${unit}` : text, box.left - 5, y);
    });
    context.textBaseline = "top";
    context.textAlign = "center";
    const times = timeTicks(this.timeWindow.from, this.timeWindow.to, (box.right - box.left) / 90);
    times.forEach(({ at, text, unit: timeUnit }, index) => {
      const x = Math.round(this.x(at)) + 0.5;
      line(context, theme.grid, x, box.top, x, box.bottom + 4);
      context.fillStyle = theme.soft;
      const whole = index === times.length - 1 ? `${text} ${timeUnit}` : text;
      context.textAlign = x > box.right - 25 ? "right" : "center";
      context.fillText(whole, x > box.right - 25 ? box.right + 8 : x, box.bottom + 7);
    });
    line(context, theme.line, box.left, box.bottom + 0.5, box.right, box.bottom + 0.5);
  }

  listen() {
    const { canvas, timeWindow } = this;
    let start = null;
    const at = (event) => event.clientX - canvas.getBoundingClientRect().left;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = { x: at(event), from: timeWindow.from, to: timeWindow.to, moving: event.shiftKey };
      canvas.setPointerCapture?.(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (start?.moving) {
        const by = this.time(start.x) - this.time(at(event));
        timeWindow.set(start.from, start.to);
        timeWindow.move(by);
      } else if (start) this.drawSelection(start.x, at(event));
      else this.hover(event, at(event));
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!start) return;
      const [from, to] = [start.x, at(event)].sort((a, b) => a - b).map(this.time);
      const clicked = Math.abs(at(event) - start.x) < 4;
      const { moving } = start;
      start = null;
      if (moving) return;
      if (clicked) this.actions.pick?.(this.time(at(event)));
      else timeWindow.set(from, to);
    });
    canvas.addEventListener("pointercancel", () => { start = null; this.draw(); });
    canvas.addEventListener("pointerleave", () => tip.hide());
    canvas.addEventListener("dblclick", () => timeWindow.all());
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      timeWindow.zoom(event.deltaY > 0 ? 1.4 : 1 / 1.4, this.time(at(event)));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      if (timeWindow.key(event.key)) event.preventDefault();
    });
  }

  drawSelection(from, to) {
    this.draw();
    const context = this.canvas.getContext("2d");
    context.globalAlpha = 0.2;
    context.fillStyle = theme.accent;
    context.fillRect(Math.min(from, to), MARGIN.top, Math.abs(to - from), this.frame.bottom - MARGIN.top);
    context.globalAlpha = 1;
  }

  hover(event, x) {
    const y = event.clientY - this.canvas.getBoundingClientRect().top;
    const box = this.frame;
    if (x < box.left || x > box.right) return tip.hide();
    const lines = this.spec.tip ? this.spec.tip(this, x, y) : seriesTip(this.spec, this, x, y);
    return tip.show(event, [time(this.time(x)), ...lines].join("\n"));
  }
}
