// What a run of one side gave: flows, digest, the command that repeats it, the scenario as a file; and errors.
import { element } from "./controls.js";
import { round } from "./quantity.js";
import { copy } from "./settings.js";

const FILE = "scenario.toml";

export class Outcome {
  // `change` gets a setting that was written as text.
  constructor(root, side, change) {
    Object.assign(this, { root, side, change });
    const button = (label, act) => {
      const made = element("button", { type: "button", textContent: label });
      made.addEventListener("click", act);
      return made;
    };
    this.error = element("pre", { className: "error", hidden: true });
    this.error.setAttribute("role", "alert");
    this.flows = element("table", { hidden: true });
    this.repeat = element("p", { className: "repeat" });
    this.text = element("textarea", { spellcheck: false, rows: 14 });
    this.text.setAttribute("aria-label", `Scenario of setting ${side.name} as TOML`);
    const editor = element("details", {}, element("summary", {}, "Scenario as text"), this.text);
    editor.append(button("Use this text", () => this.use()));
    editor.addEventListener("toggle", () => editor.open && this.fill());
    this.editor = editor;
    const download = button("Download the scenario", () => this.download());
    this.root.append(this.error, this.flows, this.repeat, element("div", { className: "row" }, download), editor);
  }

  show() {
    const { error, result, setting } = this.side;
    this.tell(error);
    this.flows.hidden = !result;
    this.repeat.replaceChildren();
    if (this.editor.open && !this.editor.contains(document.activeElement)) this.fill();
    if (!result) return;
    const head = ["Flow", "Goodput, Mbit/s", "Time, s", "Lost packets"].map((text) => element("th", { scope: "col" }, text));
    const rows = Object.entries(result.flows).map(([name, flow]) => {
      const time = flow.download_time_s === null ? "not complete" : round(flow.download_time_s, 4);
      const cells = [round(flow.goodput_mbps), time, String(flow.sender.lost_packets ?? 0)];
      return element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((text) => element("td", {}, text)));
    });
    this.flows.replaceChildren(element("tr", {}, ...head), ...rows);
    const command = element("code", { className: "command" }, `quiclab run ${FILE} --seed ${setting.seed}`);
    const digest = element("code", { className: "digest" }, result.digest);
    this.repeat.append("The same run with the downloaded scenario: ", command, " prints the digest ", digest, ".");
    for (const warning of result.warnings) this.repeat.append(element("span", { className: "note" }, ` ${warning}.`));
  }

  tell(error) {
    this.error.hidden = !error;
    this.error.textContent = error?.message ?? "";
  }

  async fill() {
    this.text.value = await this.side.toml().catch((error) => `# ${error.message}`);
  }

  // Takes the scenario in the text field, if it is one.
  async use() {
    try {
      const { engine, networks, setting } = this.side;
      const scenario = await engine.call("resolve", { text: this.text.value, format: "toml", networks });
      this.change({ ...copy(setting), scenario });
    } catch (error) {
      this.tell(error);
    }
  }

  async download() {
    try {
      const address = URL.createObjectURL(new Blob([await this.side.toml()], { type: "application/toml" }));
      element("a", { href: address, download: FILE }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    } catch (error) {
      this.tell(error);
    }
  }
}
