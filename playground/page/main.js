// The page: two settings, their runs side by side, lessons, links and downloads.
import { theme } from "./chart.js";
import { Choices } from "./choices.js";
import { element } from "./controls.js";
import { Engine } from "./engine.js";
import { Form } from "./form.js";
import { answerOf, failedConditions, settingsOf } from "./lessons.js";
import { Panels, commonTops } from "./panels.js";
import { Player } from "./player.js";
import { Outcome } from "./outcome.js";
import { FIRST_SCENARIO, copy, fromFragment, toFragment } from "./settings.js";
import { round } from "./quantity.js";
import { Side } from "./side.js";

const find = (id) => document.getElementById(id);
const data = (id) => find(id).textContent;
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const NAMES = ["A", "B"];

class Playground {
  constructor() {
    this.lessons = JSON.parse(data("lessons"));
    this.networks = JSON.parse(data("networks"));
    this.engine = new Engine(data("worker"), data("module").trim());
    const texts = Object.fromEntries(Object.entries(this.networks).map(([name, { text }]) => [name, text]));
    const sides = NAMES.map((name) => new Side(name, this.engine, texts, { scenario: FIRST_SCENARIO, seed: 1 }));
    this.sides = sides;
    this.two = false;
    this.lesson = null;
    this.player = new Player({ draw: () => this.draw(), changed: () => this.showState() });
  }

  get shown() {
    return this.two ? this.sides : this.sides.slice(0, 1);
  }

  async open() {
    this.choices = new Choices(await this.engine.call("catalogue"));
    find("version").textContent = this.choices.version;
    const loadNetwork = (name) => this.engine.call("network", { text: this.networks[name].text, file: name });
    this.views = this.sides.map((side, number) => {
      const root = find(`side-${side.name}`);
      const changed = (setting) => this.change(number, setting);
      const parts = { choices: this.choices, networks: this.networks, loadNetwork, changed };
      const form = new Form(root.querySelector(".form"), parts);
      const panels = new Panels(root.querySelector(".panels"), side.name, (seconds) => this.player.seek(seconds));
      const outcome = new Outcome(root.querySelector(".outcome"), side, (setting) => this.change(number, setting));
      return { root, form, panels, outcome };
    });
    this.connect();
    await this.load([{ scenario: copy(FIRST_SCENARIO), seed: 1 }]);
    await this.follow();
    document.body.dataset.ready = "yes";
  }

  connect() {
    find("play").addEventListener("click", () => this.toggle());
    find("step").addEventListener("click", () => this.player.step());
    find("restart").addEventListener("click", () => this.player.load(this.shown));
    find("speed").addEventListener("change", ({ target }) => (this.player.speed = Number(target.value)));
    find("scrub").addEventListener("input", ({ target }) => {
      this.player.seek((target.value / 1000) * this.player.endS);
    });
    find("two").addEventListener("change", ({ target }) => this.compare(target.checked));
    find("span").addEventListener("change", () => this.draw());
    find("flow").addEventListener("change", () => this.draw());
    find("share").addEventListener("click", () => this.share());
    find("theme").addEventListener("change", () => this.applyTheme());
    find("lesson").append(
      ...this.lessons.map(({ title }, number) => element("option", { value: number, textContent: `${number + 1}. ${title}` })),
    );
    find("lesson").addEventListener("change", ({ target }) => this.teach(this.lessons[target.value] ?? null));
    find("solve").addEventListener("click", () => this.solve());
    window.addEventListener("resize", () => this.draw());
    DARK.addEventListener("change", () => this.applyTheme());
    this.applyTheme();
    window.addEventListener("hashchange", () => this.follow());
  }

  // Takes the chosen theme, or that of the system.
  applyTheme() {
    document.documentElement.dataset.theme = find("theme").value || (DARK.matches ? "dark" : "light");
    this.draw();
  }

  // Takes the settings of the page's address, if it has some that the engine accepts.
  async follow() {
    try {
      const settings = await fromFragment(location.hash);
      if (!settings) return;
      const [first] = this.sides;
      for (const { scenario } of settings) await this.engine.call("resolve", first.text(scenario));
      await this.load(settings);
    } catch (error) {
      this.say(error.message);
    }
  }

  toggle() {
    if (this.player.state === "running") this.player.pause();
    else this.player.play();
  }

  async load(settings) {
    this.two = settings.length > 1;
    find("two").checked = this.two;
    await Promise.all(this.sides.map((side, number) => side.change(settings[number] ?? settings[0])));
    this.sides.forEach((_, number) => this.showForm(number));
    await this.player.load(this.shown);
  }

  showForm(number) {
    const other = this.two ? this.sides[1 - number].scenario : null;
    this.views[number].form.show(this.sides[number].setting, other);
  }

  async change(number, setting) {
    await this.sides[number].change(setting);
    this.showForm(number);
    await this.player.load(this.shown);
  }

  async compare(two) {
    const [{ setting }] = this.sides;
    const other = two && !this.lesson ? setting : this.sides[1].setting;
    await this.load(two ? [setting, other] : [setting]);
  }

  async teach(lesson) {
    this.lesson = lesson;
    find("lesson-text").hidden = lesson === null;
    if (!lesson) return;
    find("question").textContent = lesson.question;
    find("tries").replaceChildren(...lesson.try.map((text) => element("li", {}, text)));
    find("answer").textContent = "";
    await this.load(settingsOf(lesson));
  }

  // Goes back to the lesson's own settings, runs them, and shows the answer with their numbers.
  async solve() {
    const { lesson } = this;
    find("answer").textContent = "The experiment runs …";
    try {
      const { text } = await this.answer(lesson);
      if (lesson === this.lesson) find("answer").textContent = text;
    } catch (error) {
      if (lesson === this.lesson) find("answer").textContent = error.message;
    }
  }

  // The answer of a lesson, and its conditions that do not hold.
  async answer(lesson) {
    await this.load(settingsOf(lesson));
    await this.player.finish();
    const failed = this.sides.find((side) => side.error);
    if (failed) throw failed.error;
    const [a, b] = this.sides.map((side) => side.result);
    if (!a || !b) throw new Error("The settings have changed before the experiment was over.");
    const results = { a, b };
    return { text: answerOf(lesson, results), failed: failedConditions(lesson, results), results };
  }

  async share() {
    const fragment = await toFragment({ sides: this.shown.map(({ setting }) => setting) });
    history.replaceState(null, "", `#${fragment}`);
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("The link with these settings is in the clipboard.");
    } catch {
      this.say("The address of this page now has these settings.");
    }
  }

  say(text) {
    find("message").textContent = text;
  }

  showState() {
    const { state } = this.player;
    find("play").textContent = state === "running" ? "Pause" : state === "ended" ? "Run again" : "Run";
    document.body.dataset.state = state;
    document.body.dataset.sides = this.two ? "two" : "one";
    this.views[1].root.hidden = !this.two;
    const flows = [...new Set(this.shown.flatMap(({ recording, scenario }) => recording?.flows ?? Object.keys(scenario.flows)))];
    const chosen = find("flow").value;
    find("flow").replaceChildren(...flows.map((name) => element("option", { value: name, textContent: name })));
    if (flows.includes(chosen)) find("flow").value = chosen;
    this.shown.forEach((side, number) => this.views[number].outcome.show());
    const failed = this.shown.filter(({ error }) => error).map(({ name }) => name);
    const over = failed.length > 0 ? `The run of setting ${failed.join(" and ")} failed.` : "The run has ended.";
    this.say(state === "ended" ? over : "");
  }

  draw() {
    const { cursorS, endS, recordedS } = this.player;
    const colours = theme();
    find("time").textContent = `${round(cursorS, 4)} s of ${round(endS, 4)} s`;
    const scrub = find("scrub");
    scrub.value = endS > 0 ? (cursorS / endS) * 1000 : 0;
    scrub.disabled = recordedS === 0;
    scrub.setAttribute("aria-valuetext", `${round(cursorS, 4)} s`);
    const view = { cursorS, endS: endS || 1, flow: find("flow").value, spanS: Number(find("span").value), colours };
    const lines = this.shown.map((side, number) => this.views[number].panels.lines(side, colours));
    const tops = commonTops(lines);
    this.shown.forEach((side, number) => this.views[number].panels.draw(side, lines[number], tops, view));
  }
}

const playground = new Playground();
// for tests, and for those who look behind the page
window.playground = playground;
playground.open().catch((error) => playground.say(error.message));
