// The form of one side: network, queues, senders. It edits the scenario itself; all lists come from the schema.
import { SLIDERS, choice, element, plainValue, slider } from "./controls.js";
import { parseQuantity } from "./quantity.js";
import { copy, get, set } from "./settings.js";

// Limits of queues that have a slider, by the name of their field.
const LIMITS = { packets: "count", bytes: "size" };
const DEFAULT_LIMIT = { packets: 1000, bytes: "200 kB" };

export class Form {
  // `changed` gets the new setting.
  constructor(root, { choices, networks, loadNetwork, changed }) {
    Object.assign(this, { root, choices, networks, loadNetwork, changed });
  }

  // `other`: the scenario of the other side; parts that do not differ from it are closed at first.
  show(setting, other = null) {
    const shown = this.setting !== undefined && Boolean(other) === Boolean(this.other);
    Object.assign(this, { setting, other });
    const { scenario } = setting;
    const links = Object.keys(scenario.links ?? {});
    const flows = Object.keys(scenario.flows ?? {});
    const open = new Set([...this.root.querySelectorAll("details[open]")].map(({ dataset }) => dataset.part));
    const focused = document.activeElement?.closest?.("[data-control]")?.dataset.control;
    this.root.replaceChildren(
      this.general(scenario),
      ...links.map((name) => this.link(name, scenario.links[name])),
      ...flows.map((name) => this.flow(name, scenario.flows[name])),
      this.buttons(flows),
    );
    for (const part of this.root.querySelectorAll("details")) {
      part.open = shown ? open.has(part.dataset.part) : part.dataset.open === "yes";
    }
    this.name();
    this.root.querySelector(`[data-control="${focused}"] :is(input, select, button)`)?.focus();
  }

  // Names controls by their order, so that the focus stays after a change.
  name() {
    this.root.querySelectorAll(".field, .button").forEach((field, number) => (field.dataset.control = number));
  }

  edit(change) {
    const setting = copy(this.setting);
    change(setting);
    this.changed(setting);
  }

  // Sets one value of the scenario.
  put(path, value) {
    this.edit(({ scenario }) => set(scenario, path, value));
  }

  // Whether the other side has something else at `path`.
  differs(path) {
    return JSON.stringify(get(this.other, path)) !== JSON.stringify(get(this.setting.scenario, path));
  }

  // A part of the form about `path`; open at first if it matters.
  part(path, title, matters, ...children) {
    const name = path.join(" ");
    const open = this.other ? path.length > 0 && this.differs(path) : matters;
    const summary = element("summary", {}, title);
    const body = element("div", { className: "fields" }, ...children);
    return element("details", { dataset: { part: name, open: open ? "yes" : "no" } }, summary, body);
  }

  general(scenario) {
    const seconds = parseQuantity("duration", scenario.duration);
    const seed = element("input", { type: "number", min: 0, max: Number.MAX_SAFE_INTEGER, value: this.setting.seed });
    seed.addEventListener("change", () => {
      const value = Number(seed.value);
      if (Number.isSafeInteger(value) && value >= 0) this.edit((setting) => (setting.seed = value));
      else seed.value = this.setting.seed;
    });
    const seedLabel = element("label", {}, element("div", { className: "caption" }, "Seed"), seed);
    const paths = Object.entries(this.networks).map(([value, { description }]) => ({ value, description }));
    return this.part(
      [],
      "Path and run",
      true,
      choice("Named path", paths, undefined, (path) => path && this.usePath(path), "as below"),
      slider("Duration", "duration", SLIDERS.duration, seconds, (text) => this.put(["duration"], text)),
      element("div", { className: "field" }, seedLabel),
    );
  }

  // Takes the links of a named path; all flows go over them.
  async usePath(path) {
    const { links } = await this.loadNetwork(path);
    this.edit(({ scenario }) => {
      const route = { down: ["down"], up: ["up"] };
      for (const part of ["network", "bearers", "taps", "wires", "events", "tunnels"]) delete scenario[part];
      scenario.links = links;
      for (const flow of Object.values(scenario.flows)) {
        delete flow.paths;
        Object.assign(flow, route);
      }
    });
  }

  link(name, link) {
    const path = ["links", name];
    const quantity = (label, kind, sliderName, fieldName, inner, absent) => {
      const { value, varies, inTable } = plainValue(kind, link[fieldName], inner);
      if (varies) return note(`${label}: as the scenario says (${link[fieldName].kind ?? "not constant"})`);
      const target = inTable ? [...path, fieldName, inner] : [...path, fieldName];
      if (value === undefined && absent === null) return note(`${label}: none`);
      return slider(label, kind, SLIDERS[sliderName], value ?? absent, (text) => this.put(target, text));
    };
    return this.part(
      path,
      `Link ${name}`,
      link.rate !== undefined,
      quantity("Rate", "rate", "rate", "rate", "rate", null),
      quantity("One-way delay", "duration", "delay", "delay", "mean", 0),
      quantity("Loss", "probability", "loss", "loss", "probability", 0),
      ...this.queue(path, link),
      link.conditions ? note("Rate and delay change over time as the scenario says.") : null,
    );
  }

  queue(path, { rate, conditions, queue = { kind: "drop_tail", packets: 1000 } }) {
    if (rate === undefined && conditions === undefined) return [];
    const kinds = this.choices.kinds("Queue");
    const fields = [choice("Queue discipline", kinds, queue.kind, (kind) => this.useQueue(path, queue, kind))];
    for (const [limit, kind] of Object.entries(LIMITS)) {
      if (queue[limit] === undefined) continue;
      const value = kind === "count" ? queue[limit] : parseQuantity(kind, queue[limit]);
      const change = (found) => this.put([...path, "queue", limit], found);
      fields.push(slider(`Queue limit (${limit})`, kind, SLIDERS[limit], value, change));
    }
    if (this.choices.fields("Queue", queue.kind).ecn) {
      const box = element("input", { type: "checkbox", checked: queue.ecn === true });
      box.addEventListener("change", () => this.put([...path, "queue", "ecn"], box.checked));
      fields.push(element("div", { className: "field" }, element("label", { className: "check" }, box, "Marks (ECN)")));
    }
    return fields;
  }

  // Another kind of queue keeps the limits that it has, too.
  useQueue(path, queue, kind) {
    const known = this.choices.fields("Queue", kind);
    const kept = Object.keys(LIMITS).filter((limit) => queue[limit] !== undefined && known[limit]);
    const changed = { kind, ...Object.fromEntries(kept.map((limit) => [limit, queue[limit]])) };
    const simple = ["drop_tail", "head_drop"].includes(kind);
    if (kept.length === 0 && simple) changed.bytes = DEFAULT_LIMIT.bytes;
    this.put([...path, "queue"], changed);
  }

  flow(name, flow) {
    const path = ["flows", name];
    const stack = flow.stack ?? flow.sender?.stack;
    const profiles = this.choices.profiles(stack);
    const at = (end, option) => get(flow, [end, option]);
    const fields = [
      choice("Stack", this.choices.stackNames(), stack, (value) => this.useStack(path, value)),
    ];
    if (profiles.length > 0) {
      const change = (value) =>
        this.edit(({ scenario }) => {
          set(scenario, [...path, "sender", "profile"], value);
          set(scenario, [...path, "receiver", "profile"], value);
        });
      fields.push(choice("Profile", profiles, at("sender", "profile"), change, "default"));
    }
    const lists = { congestion_control: "CongestionControl", slow_start_exit: "SlowStartExit" };
    const labels = { congestion_control: "Congestion control", slow_start_exit: "Exit of slow start" };
    for (const [option, type] of Object.entries(lists)) {
      if (!this.choices.hasOption(stack, option)) continue;
      const change = (value) => this.put([...path, "sender", option], value);
      fields.push(choice(labels[option], this.choices.values(type), at("sender", option), change, "of the profile"));
    }
    if (flow.paths?.length > 0 || at("sender", "quic")?.path_scheduler) {
      const kinds = this.choices.kinds("PathScheduler");
      const scheduler = at("sender", "quic")?.path_scheduler;
      const change = (value) => this.put([...path, "sender", "quic", "path_scheduler"], value);
      fields.push(choice("Path scheduler", kinds, scheduler?.kind ?? scheduler, change, "default"));
    }
    fields.push(note(`Workload: ${describeWorkload(flow.workload)}`));
    return this.part(path, `Flow ${name}`, true, ...fields);
  }

  // Options of another stack are not kept: it may not have them.
  useStack(path, stack) {
    this.edit(({ scenario }) => {
      const flow = get(scenario, path);
      for (const end of ["sender", "receiver"]) delete flow[end];
      flow.stack = stack;
      const { workloads } = this.choices.stack(stack);
      if (!workloads.includes(flow.workload.kind)) flow.workload = workloadOf(workloads[0]);
    });
  }

  buttons(flows) {
    const button = (label, act) => {
      const made = element("button", { type: "button", textContent: label });
      made.addEventListener("click", act);
      return element("span", { className: "button" }, made);
    };
    const add = button("Add a flow", () =>
      this.edit(({ scenario }) => {
        const number = [2, 3, 4, 5, 6].find((candidate) => !scenario.flows[`flow${candidate}`]);
        scenario.flows[`flow${number}`] = { ...copy(scenario.flows[flows[0]]), start: "1 s" };
      }),
    );
    const remove = button("Remove the last flow", () =>
      this.edit(({ scenario }) => delete scenario.flows[flows.at(-1)]),
    );
    return element("div", { className: "row" }, flows.length < 6 ? add : null, flows.length > 1 ? remove : null);
  }
}

function note(text) {
  return element("p", { className: "note", textContent: text });
}

// A workload of a stack that does not carry the former one.
function workloadOf(kind) {
  if (kind === "datagrams") return { kind, rate: "1 Mbit/s", size: "1200 B", duration: "20 s" };
  return { kind: "download", duration: "20 s" };
}

function describeWorkload({ kind, ...fields }) {
  const simple = Object.entries(fields).filter(([, value]) => typeof value !== "object");
  return [kind, ...simple.map(([name, value]) => `${name} ${value}`)].join(", ");
}
