// Parts of forms: sliders over quantities, and lists of choices.
import { parseQuantity, writeQuantity } from "./quantity.js";

// Values of sliders: steps of a few per power of ten.
const between = (first, last, steps) => {
  const values = [];
  for (let power = 10 ** Math.floor(Math.log10(first)); power <= last; power *= 10) {
    values.push(...steps.map((step) => Number((step * power).toPrecision(6))));
  }
  return values.filter((value) => value >= first && value <= last);
};
const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 8];
export const SLIDERS = {
  rate: between(1e5, 1e9, STEPS),
  delay: [0, ...between(1e-3, 0.5, STEPS)],
  loss: [0, ...between(1e-4, 0.2, [1, 2, 5])],
  bytes: between(3e3, 1e7, STEPS),
  packets: between(5, 2e4, [1, 2, 3, 5, 7]),
  duration: between(1, 120, [1, 2, 3, 4, 5, 6, 8]),
};

export function element(tag, properties = {}, ...children) {
  const { dataset, ...rest } = properties;
  const made = Object.assign(document.createElement(tag), rest);
  Object.assign(made.dataset, dataset);
  made.append(...children.filter((child) => child !== null));
  return made;
}

let numbers = 0;
const identity = () => `control-${(numbers += 1)}`;

// A label with a control below it.
function field(label, control, output = null) {
  control.id = identity();
  const caption = element("label", { htmlFor: control.id }, label);
  return element("div", { className: "field" }, element("div", { className: "caption" }, caption, output), control);
}

// A slider for a quantity; `value` is in base units, `change` gets the text of the new value.
export function slider(label, kind, values, value, change) {
  const steps = values.includes(value) ? values : [...values, value].sort((one, other) => one - other);
  const write = (number) => (kind === "count" ? String(number) : writeQuantity(kind, number));
  const input = element("input", { type: "range", min: 0, max: steps.length - 1, step: 1 });
  input.value = steps.indexOf(value);
  const output = element("output");
  const show = () => {
    output.textContent = write(steps[input.value]);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  show();
  input.addEventListener("input", show);
  input.addEventListener("change", () => change(kind === "count" ? steps[input.value] : write(steps[input.value])));
  return field(label, input, output);
}

// A list of `choices` ({value, description}); `change` gets the value, undefined for the first one, the default.
export function choice(label, choices, value, change, none = null) {
  const select = element("select");
  if (none !== null) select.append(element("option", { value: "", textContent: none }));
  for (const { value: one, description } of choices) {
    select.append(element("option", { value: one, textContent: one, title: description ?? "" }));
  }
  select.value = value ?? "";
  const chosen = choices.find(({ value: one }) => one === value);
  select.title = chosen?.description ?? "";
  select.addEventListener("change", () => change(select.value === "" ? undefined : select.value));
  return field(label, select);
}

// Kind and value of a field of a link: a plain quantity, one inside a table, or one that no slider shows.
export function plainValue(kind, found, inner) {
  if (found === undefined || found === null) return { absent: true };
  const text = typeof found === "object" ? found[inner] : found;
  const value = typeof text === "number" ? text : parseQuantity(kind, text);
  return value === null ? { varies: true } : { value, inTable: typeof found === "object" };
}
