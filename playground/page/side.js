// One of the two settings: its run, and what it has recorded.
import { Recording } from "./recording.js";
import { copy, withRecordings } from "./settings.js";
import { parseQuantity } from "./quantity.js";

// Metrics that the page draws.
const METRICS = [
  ..."cwnd_bytes ssthresh_bytes in_flight_bytes srtt_ms min_rtt_ms delivered_bytes".split(" "),
  "queue_bytes",
];

export class Side {
  constructor(name, engine, networks, setting) {
    this.name = name;
    this.engine = engine;
    this.networks = networks;
    this.setting = copy(setting);
    this.clear();
  }

  clear() {
    this.run = null;
    this.recording = null;
    this.result = null;
    this.error = null;
  }

  get scenario() {
    return this.setting.scenario;
  }

  get endS() {
    return this.recording ? parseQuantity("duration", this.recording.scenario.duration) : 0;
  }

  get ended() {
    return this.result !== null || this.error !== null;
  }

  text(scenario) {
    return { text: JSON.stringify(scenario), format: "json", networks: this.networks };
  }

  // Takes another setting; the run so far is forgotten.
  async change(setting) {
    await this.discard();
    this.setting = copy(setting);
  }

  async discard() {
    const { run } = this;
    this.clear();
    await this.forget(run);
  }

  // An engine that does not know the run any more has nothing to forget.
  async forget(run) {
    if (run !== null) await this.engine.call("discard", { run }).catch(() => {});
  }

  async attempt(work) {
    const { setting } = this;
    try {
      await work();
    } catch (error) {
      if (setting !== this.setting) return; // an error of another setting
      const { run } = this;
      Object.assign(this, { error, run: null });
      await this.forget(run);
    }
  }

  async begin() {
    await this.discard();
    const { setting } = this;
    await this.attempt(async () => {
      const scenario = this.text(withRecordings(this.scenario));
      const parameters = { scenario, seed: this.setting.seed, metrics: METRICS };
      const started = await this.engine.call("start", parameters);
      if (setting !== this.setting) {
        await this.forget(started.run); // the setting has changed meanwhile
        return;
      }
      this.run = started.run;
      this.recording = new Recording(started.elements, started.scenario);
    });
  }

  // Handles all events up to `seconds`.
  async advance(seconds) {
    if (this.ended || this.run === null) return;
    const { run } = this;
    await this.attempt(async () => {
      const parameters = { run, until_ns: Math.round(seconds * 1e9) };
      const { ended_by: endedBy, ...recorded } = await this.engine.call("advance", parameters);
      if (this.run !== run) return;
      this.recording.add(recorded);
      this.recording.timeS = Math.min(seconds, this.endS);
      if (endedBy === null) return;
      this.result = await this.engine.call("finish", { run });
      this.recording.timeS = this.result.run.network_time_s;
      this.run = null;
    });
  }

  // The scenario as a file for the command.
  async toml() {
    const { record, ...rest } = withRecordings(this.scenario);
    return this.engine.call("toml", this.text({ ...rest, record: { ...record, packets: false } }));
  }
}
