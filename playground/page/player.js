// Playback: runs both sides together, as fast as chosen, and moves the cursor through what they have recorded.

// Longest time between two pictures, in milliseconds.
const PICTURE_MS = 100;

export class Player {
  // `draw` shows the sides at the cursor; `changed` tells that the state is another.
  constructor({ draw, changed }) {
    Object.assign(this, { draw, changed });
    this.sides = [];
    this.speed = 10;
    this.reset();
  }

  reset() {
    this.state = "ready"; // ready, starting, running, paused, ended
    this.timeS = 0;
    this.cursorS = 0;
    this.follow = true;
    this.round = (this.round ?? 0) + 1;
  }

  // Other settings: the runs so far are forgotten.
  async load(sides) {
    this.reset();
    this.sides = sides;
    await Promise.all(sides.map((side) => side.discard()));
    this.tell();
  }

  get endS() {
    return Math.max(...this.sides.map((side) => side.endS), 0);
  }

  get recordedS() {
    return Math.max(...this.sides.map((side) => side.recording?.timeS ?? 0), 0);
  }

  tell() {
    this.changed();
    this.draw();
  }

  // Begins the runs unless they have begun; returns whether they can go on: not if other settings have come meanwhile.
  async begin() {
    if (this.state !== "ready") return this.state !== "starting";
    const { round } = this;
    this.state = "starting";
    await Promise.all(this.sides.map((side) => side.begin()));
    if (round !== this.round) return false;
    this.state = "paused";
    return true;
  }

  async play() {
    if (["running", "starting"].includes(this.state)) return;
    if (this.state === "ended") {
      this.reset();
    }
    if (!(await this.begin())) return;
    this.state = "running";
    this.follow = true;
    this.tell();
    await this.loop(this.round);
  }

  pause() {
    if (this.state === "running") this.state = "paused";
    this.tell();
  }

  // One part of the run, as long as a step of the cursor.
  async step() {
    if (!(await this.begin())) return;
    if (this.state === "running") this.state = "paused";
    if (this.cursorS < this.recordedS - 1e-9) this.seek(Math.min(this.cursorS + this.stepS, this.recordedS));
    else await this.advance(this.timeS + this.stepS);
    this.tell();
  }

  get stepS() {
    return this.endS / 200;
  }

  seek(seconds) {
    this.cursorS = Math.min(Math.max(seconds, 0), this.recordedS);
    this.follow = this.cursorS >= this.recordedS - 1e-9;
    this.draw();
  }

  async advance(seconds) {
    const { round } = this;
    const until = Math.min(seconds, this.endS);
    await Promise.all(this.sides.map((side) => side.advance(until)));
    if (round !== this.round) return;
    this.timeS = until;
    if (this.sides.every((side) => side.ended)) {
      this.state = "ended";
      this.timeS = this.recordedS;
    }
    if (this.follow) this.cursorS = this.recordedS;
  }

  // Runs until paused or ended, in parts that take PICTURE_MS at most.
  async loop(round) {
    let last = performance.now();
    let part = this.stepS / 5;
    while (this.state === "running" && round === this.round) {
      const begun = performance.now();
      // an engine that is slower than the chosen speed gets parts that it can do
      await this.advance(this.timeS + Math.min(part, (Math.max(begun - last, 1) / 1000) * this.speed));
      const worked = performance.now() - begun;
      last = begun;
      part = Math.min(Math.max(part * (worked < PICTURE_MS ? 2 : 0.7), 1e-4), this.endS);
      if (round !== this.round) return;
      this.draw();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    this.tell();
  }

  // Runs to the end without pictures on the way.
  async finish() {
    if (!(await this.begin())) return;
    const { round } = this;
    while (round === this.round && !this.sides.every((side) => side.ended)) {
      await this.advance(this.timeS + this.endS / 20);
    }
    this.tell();
  }
}
