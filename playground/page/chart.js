// Lines over time on a canvas: axes, a cursor, and for each pixel column the range of the values in it.
import { lowerBound } from "./recording.js";
import { round } from "./quantity.js";

const MARGIN = { left: 46, right: 8, top: 8, bottom: 20 };

// Canvas context in CSS pixels, as sharp as the screen.
export function contextOf(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  return { context, width, height };
}

// Colours of the page's theme.
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const lines = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"].map(colour);
  return { text: colour("--text-soft"), grid: colour("--grid"), cursor: colour("--text"), bad: colour("--bad"), lines };
}

// A step of 1, 2 or 5 times a power of ten, of which `most` fit.
function step(range, most) {
  const rough = range / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
}

// The largest value that the lines have, a little above it.
export function highest(lines) {
  let most = 0;
  for (const { column } of lines) {
    for (const value of column?.value ?? []) if (value > most) most = value;
  }
  return most * 1.08 || 1;
}

// Draws `lines` ({name, colour, dash, column}) from 0 to `endS` and `top`; `cursorS` is marked.
export function drawChart(canvas, lines, { endS, top, cursorS, colours }) {
  const { context, width, height } = contextOf(canvas);
  const plot = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const x = (seconds) => MARGIN.left + (seconds / endS) * plot.width;
  const y = (value) => MARGIN.top + plot.height - (Math.min(value, top) / top) * plot.height;
  context.strokeStyle = colours.grid;
  context.fillStyle = colours.text;
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const rise = step(top, Math.max(2, plot.height / 32));
  for (let value = 0; value <= top; value += rise) {
    horizontal(context, y(value), MARGIN.left, width - MARGIN.right);
    context.fillText(round(value), MARGIN.left - 5, y(value));
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  const stride = step(endS, Math.max(2, plot.width / 70));
  for (let seconds = 0; seconds <= endS * 1.0001; seconds += stride) {
    const last = x(seconds) > width - 20;
    context.textAlign = last ? "right" : "center";
    context.fillText(`${round(seconds)} s`, last ? width - 2 : x(seconds), height - MARGIN.bottom + 5);
  }
  for (const line of lines) drawLine(context, line, x, y);
  if (cursorS !== undefined) {
    context.setLineDash([]);
    context.strokeStyle = colours.cursor;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x(cursorS), MARGIN.top);
    context.lineTo(x(cursorS), MARGIN.top + plot.height);
    context.stroke();
  }
}

function horizontal(context, y, from, to) {
  context.beginPath();
  context.moveTo(from, Math.round(y) + 0.5);
  context.lineTo(to, Math.round(y) + 0.5);
  context.stroke();
}

// A step line. Where several samples share a pixel, first, least, greatest and last of them.
function drawLine(context, { colour, dash, thin, column }, x, y) {
  if (!column || column.time.length === 0) return;
  const { time, value } = column;
  context.strokeStyle = colour;
  context.lineWidth = thin ? 1 : 1.75;
  context.setLineDash(dash ?? []);
  context.lineJoin = "round";
  context.beginPath();
  let row = 0;
  while (row < time.length) {
    const pixel = Math.floor(x(time[row]));
    const first = row;
    let [least, most] = [value[row], value[row]];
    while (row < time.length && Math.floor(x(time[row])) === pixel) {
      least = Math.min(least, value[row]);
      most = Math.max(most, value[row]);
      row += 1;
    }
    if (first === 0) context.moveTo(pixel, y(value[first]));
    else context.lineTo(pixel, y(value[first]));
    if (most > least) {
      context.lineTo(pixel, y(least));
      context.lineTo(pixel, y(most));
      context.lineTo(pixel, y(value[row - 1]));
    }
  }
  context.stroke();
  context.setLineDash([]);
}

// The value of a column at an instant: that of the last sample until then.
export function valueAt(column, seconds) {
  if (!column) return undefined;
  const row = lowerBound(column.time, seconds + 1e-9) - 1;
  return row < 0 ? undefined : column.value[row];
}

// Time under a pointer over the canvas.
export function timeAt(canvas, clientX, endS) {
  const { left, width } = canvas.getBoundingClientRect();
  const share = (clientX - left - MARGIN.left) / (width - MARGIN.left - MARGIN.right);
  return Math.min(Math.max(share, 0), 1) * endS;
}
