// A time window that several charts share. After a change all listeners draw again, once per frame.

class TimeWindow {
  constructor(start, end, least = 10) {
    this.limits = [start, end];
    this.least = least;
    [this.from, this.to] = this.limits;
    this.listeners = [];
    this.waiting = false;
  }

  get span() {
    return this.to - this.from;
  }

  set(from, to) {
    const [first, last] = this.limits;
    const span = Math.min(Math.max(to - from, this.least), last - first);
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - span / 2, first), last - span);
    this.to = this.from + span;
    this.changed();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  move(by) {
    const span = this.span;
    const from = Math.min(Math.max(this.from + by, this.limits[0]), this.limits[1] - span);
    this.set(from, from + span);
  }

  all() {
    this.set(...this.limits);
  }

  changed() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    for (const listener of this.listeners) listener();
  }

  key(name) {
    const acts = {
      ArrowLeft: () => this.move(-this.span / 4), ArrowRight: () => this.move(this.span / 4),
      "+": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.all(),
    };
    acts[name]?.();
    return name in acts;
  }
}
