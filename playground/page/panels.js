// The charts of one side, with their legends and their texts for readers who do not see them.
import { drawChart, highest, timeAt, valueAt } from "./chart.js";
import { element } from "./controls.js";
import { round } from "./quantity.js";
import { drawSequence, sequenceText, tripsOf } from "./sequence.js";

// Goodput is a mean over so many seconds.
const GOODPUT_WINDOW_S = 0.25;
const scaled = (column, factor) =>
  column && { time: column.time, value: column.value.map((value) => value * factor) };

// Charts: title, unit, and the lines of a recording.
const CHARTS = [
  {
    title: "Congestion window",
    unit: "kB",
    lines: (recording, colours) =>
      recording.flows.flatMap((flow, number) => {
        const line = (name, metric, style) => {
          const column = scaled(recording.column(`${flow}.sender`, metric), 1e-3);
          return { name: `${flow} ${name}`, colour: colours.lines[number % 6], column, ...style };
        };
        return [
          line("window", "cwnd_bytes", {}),
          line("threshold", "ssthresh_bytes", { dash: [5, 4] }),
          line("in flight", "in_flight_bytes", { dash: [1, 2], thin: true }),
        ];
      }),
  },
  {
    title: "Queue",
    unit: "kB",
    lines: (recording, colours) =>
      recording.bottlenecks().map((link, number) => {
        const column = scaled(recording.column(link, "queue_bytes"), 1e-3);
        return { name: link, colour: colours.lines[(number + 2) % 6], column };
      }),
  },
  {
    title: "Goodput",
    unit: "Mbit/s",
    lines: (recording, colours) =>
      recording.flows.map((flow, number) => {
        const column = recording.rate(`${flow}.receiver`, "delivered_bytes", GOODPUT_WINDOW_S);
        return { name: flow, colour: colours.lines[number % 6], column };
      }),
  },
  {
    title: "Round-trip time",
    unit: "ms",
    lines: (recording, colours) =>
      recording.flows.flatMap((flow, number) => {
        const line = (name, metric, style) => {
          const column = recording.column(`${flow}.sender`, metric);
          return { name: `${flow} ${name}`, colour: colours.lines[number % 6], column, ...style };
        };
        return [line("smoothed", "srtt_ms", {}), line("least", "min_rtt_ms", { dash: [5, 4] })];
      }),
  },
];

export class Panels {
  // `seek` gets the time that was chosen in a chart.
  constructor(root, name, seek) {
    this.charts = CHARTS.map((chart) => {
      const canvas = element("canvas");
      canvas.setAttribute("role", "img");
      const legend = element("ul", { className: "legend" });
      const figure = element("figure", {}, element("figcaption", {}, `${chart.title}, ${chart.unit}`), canvas, legend);
      root.append(figure);
      const point = ({ buttons, clientX, type }) => {
        if (this.endS && (buttons === 1 || type === "pointerdown")) seek(timeAt(canvas, clientX, this.endS));
      };
      canvas.addEventListener("pointerdown", point);
      canvas.addEventListener("pointermove", point);
      return { ...chart, canvas, legend };
    });
    this.sequence = element("canvas", { className: "sequence" });
    this.sequence.setAttribute("role", "img");
    this.caption = element("p", { className: "note" });
    const title = element("figcaption", {}, "Packets of ", (this.title = element("span")));
    root.append(element("figure", {}, title, this.sequence, this.caption));
    this.name = name;
  }

  // The lines of each chart.
  lines(side, colours) {
    return this.charts.map(({ lines }) => (side.recording ? lines(side.recording, colours).filter(({ column }) => column) : []));
  }

  // `tops`: the highest value of each chart, `view`: cursor, flow and length of the sequence diagram.
  draw(side, lines, tops, { cursorS, endS, flow, spanS, colours }) {
    this.endS = endS;
    this.charts.forEach(({ canvas, legend, title, unit }, number) => {
      drawChart(canvas, lines[number], { endS, top: tops[number], cursorS, colours });
      const items = lines[number].map(({ name, colour, dash, column }) => {
        const value = valueAt(column, cursorS);
        return { name, colour, dash, text: value === undefined ? "none" : `${round(value)} ${unit}` };
      });
      this.explain(legend, items);
      const values = items.map(({ name, text }) => `${name} ${text}`).join(", ");
      canvas.setAttribute("aria-label", `${title} of setting ${this.name} at ${round(cursorS)} s: ${values || "no data"}`);
    });
    this.drawSequence(side, { cursorS, flow, spanS, colours });
  }

  // The legend; its elements stay while the lines do.
  explain(legend, items) {
    if (legend.children.length !== items.length) {
      legend.replaceChildren(...items.map(() => element("li", {}, element("span"), element("b"), element("i"))));
    }
    items.forEach(({ name, colour, dash, text }, number) => {
      const [sample, label, value] = legend.children[number].children;
      sample.style.borderTop = `${dash ? (dash[0] > 2 ? "2px dashed" : "2px dotted") : "3px solid"} ${colour}`;
      label.textContent = name;
      value.textContent = text;
    });
  }

  drawSequence(side, { cursorS, flow, spanS, colours }) {
    const { recording } = side;
    const chosen = recording?.flows.includes(flow) ? flow : recording?.flows[0];
    const from = Math.max(0, cursorS - spanS);
    const to = from + spanS;
    const trips = recording ? tripsOf(recording, chosen, from, to) : [];
    drawSequence(this.sequence, trips, { from, to, colours });
    this.title.textContent = chosen ?? "a flow";
    this.caption.textContent = sequenceText(trips, from, to);
    this.sequence.setAttribute("aria-label", `Sequence diagram of setting ${this.name}, ${this.caption.textContent}`);
  }
}

// The highest value of each chart over all sides, so that they can be compared.
export function commonTops(all) {
  return CHARTS.map((_, number) => Math.max(...all.map((lines) => highest(lines[number]))));
}
