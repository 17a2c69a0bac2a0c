// Colours of the style sheet, for drawing on a canvas; numbers and times as strings.

const COLOURS = ["text", "soft", "page", "panel", "line", "grid", "accent", "blue", "vermillion", "green", "orange", "sky", "purple", "grey"];
const CYCLE = ["blue", "orange", "green", "purple", "sky", "vermillion", "grey"];
const theme = {};

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of COLOURS) theme[name] = style.getPropertyValue(`--${name}`).trim();
}

const grouped = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const [whole, part] = value.toFixed(Number.isInteger(value) ? 0 : digits).split(".");
  return grouped(whole) + (part ? `.${part}` : "");
}

function time(us) {
  return Math.abs(us) >= 1e7 ? `${number(us / 1e6, 3)} s` : `${number(us / 1e3, 3)} ms`;
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// The shape of a swatch also identifies its line.
function legend(items) {
  const row = element("div", { class: "legend" });
  for (const item of items) {
    const colour = `var(--${item.colour})`;
    let swatch = element("i", { class: "line", style: `border-color:${colour}` });
    if (item.kind === "dash") swatch.classList.add("dashed");
    if (item.kind === "cross" || item.kind === "plus") {
      swatch = element("i", { class: "cross", style: `color:${colour}`, text: item.kind === "plus" ? "+" : "×" });
    }
    if (item.kind === "points") swatch = element("i", { class: "dot", style: `background:${colour}` });
    if (item.kind === "box") swatch = element("i", { class: "box", style: `background:${colour};opacity:${item.opacity ?? 1}` });
    row.append(element("span", {}, swatch, item.label));
  }
  return row;
}

const tip = {
  show(event, text) {
    const node = document.getElementById("tip");
    node.textContent = text;
    node.hidden = false;
    const box = node.getBoundingClientRect();
    node.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    node.style.top = `${event.clientY + box.height + 24 < innerHeight ? event.clientY + 16 : event.clientY - box.height - 10}px`;
  },
  hide() {
    document.getElementById("tip").hidden = true;
  },
};
