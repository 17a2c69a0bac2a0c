// Combines the views: one column per side, one time window for all charts, another for the sequence diagrams.

const sides = readSides();
const several = sides.length > 1;
const earliest = Math.min(...sides.map(({ start }) => start));
const longest = Math.max(...sides.map(({ duration }) => duration));
const charts = new TimeWindow(earliest, longest);
const sequences = new TimeWindow(earliest, longest);
for (const side of sides) side.which = busiestEnd(side.connection);

// The sequence diagrams go back to the first packets.
sequences.home = () => {
  const firsts = sides.map((side) => firstArrows(side.connection)).filter((t) => t !== null);
  if (firsts.length) sequences.set(earliest, Math.max(...firsts));
};

// The time shown is in the address, `#ms=11954-11982`, so that it can be kept, sent, and opened by a script.
function fromAddress() {
  const found = /^#ms=([\d.]+)-([\d.]+)$/.exec(location.hash);
  if (!found) return false;
  const [from, to] = found.slice(1).map((text) => Number(text) * 1000);
  charts.set(from, to);
  sequences.set(from, to);
  return true;
}

function toAddress() {
  const whole = charts.from === charts.limits[0] && charts.to === charts.limits[1];
  const place = whole ? "" : `#ms=${+(charts.from / 1000).toFixed(3)}-${+(charts.to / 1000).toFixed(3)}`;
  if (location.hash !== place) history.replaceState(null, "", place || location.pathname + location.search);
}

// A click on a chart moves the diagrams to that time; the band shows their position.
const actions = {
  pick(at) {
    const { span } = sequences;
    sequences.set(at - span / 2, at + span / 2);
  },
  band(context, x, box) {
    const [from, to] = [x(sequences.from), Math.max(x(sequences.to), x(sequences.from) + 2)];
    context.fillStyle = theme.soft;
    context.fillRect(from, box.top - 3, to - from, 5);
    context.globalAlpha = 0.5;
    for (const edge of [from, to]) line(context, theme.soft, edge, box.top, edge, box.bottom);
    context.globalAlpha = 1;
  },
};

function columns(identity, draw) {
  const parent = document.getElementById(identity);
  parent.replaceChildren();
  for (const side of sides) {
    const panel = element("div", { class: "panel" });
    if (several) panel.append(element("span", { class: `key key-${side.key}`, text: side.key }), ` ${side.name}`);
    parent.append(panel);
    draw(panel, side);
  }
}

document.getElementById("sequence-legend").replaceWith(legend([...KINDS, LOST]));
const empty = (panel, text) => panel.append(element("p", { class: "empty", text }));

function drawCongestion() {
  const specs = sides.map((side) => congestionSpecs(side, side.duration));
  const shown = new Set(specs.flat().filter(([, spec]) => spec.series.some(({ t }) => t.length)).map(([name]) => name));
  const groups = Object.fromEntries([...shown].map((name) => [name, new Group()]));
  columns("congestion", (panel, side) => {
    const mine = specs[sides.indexOf(side)].filter(([name]) => shown.has(name));
    for (const [name, spec] of mine) new Plot(panel, spec, charts, groups[name], actions);
    if (mine.length && !specs[sides.indexOf(side)].some(([name, { series }]) => name === "limits" && series.length)) empty(panel, "What limits the sender is not known: this needs its window, its bytes in flight and all its packets.");
    if (!mine.length) empty(panel, "No congestion-control data was recorded: set record.qlog or record.series_interval.");
  });
}

function drawSequences() {
  columns("sequence", (panel, side) => {
    if (side.connection.arrows.some(({ count }) => count > 0)) new Sequence(panel, side, sequences);
    else empty(panel, "No packets were recorded: set record.qlog, or record.packets for stacks without qlog.");
  });
}

function drawStreams() {
  const group = new Group();
  columns("streams", (panel, side) => {
    const spec = streamsSpec(side, side.duration);
    if (spec) new Plot(panel, spec, charts, group, actions);
    else empty(panel, "No stream frames: they are recorded in qlog, and TCP has only one stream.");
  });
}

function drawPackets() {
  const chosen = sides.map((side) => side.connection.ends[side.which]).filter(Boolean);
  const scale = histogramScale(chosen);
  columns("packets", (panel, side) => {
    const end = side.connection.ends[side.which];
    if (!end) return empty(panel, "No data about this endpoint.");
    drawComposition(panel, end);
    return drawHistogram(panel, end, scale);
  });
}

function drawLinks() {
  const colours = linkColours(sides);
  const groups = [new Group(), new Group()];
  columns("links", (panel, side) => {
    if (!side.links.length) return empty(panel, side.links_note);
    new Plot(panel, queueSpec(side.links, colours, side.duration), charts, groups[0], actions);
    return new Plot(panel, rateSpec(side.links, colours, side.duration), charts, groups[1], actions);
  });
}

function choice(side, label, names, chosen, set) {
  const select = element("select", { "aria-label": `${side.key}: ${label}` });
  names.forEach(([value, name]) => select.append(element("option", { value, text: name })));
  select.value = String(chosen);
  select.addEventListener("change", () => {
    set(Number(select.value));
    build();
  });
  return select;
}

// Selection of the connection and of its endpoint, if there are several.
function drawChoices() {
  const parent = document.getElementById("choices");
  parent.replaceChildren();
  for (const side of sides) {
    const row = element("span", {}, several ? element("span", { class: `key key-${side.key}`, text: `${side.key} ` }) : "");
    if (side.connections.length > 1) {
      const names = side.connections.map(({ name }, index) => [index, name || `connection ${index + 1}`]);
      row.append(choice(side, "connection", names, side.chosen, (value) => {
        side.chosen = value;
        side.which = busiestEnd(side.connection);
      }), " ");
    }
    const known = side.connection.ends.map((end, index) => [index, end && `seen by the ${end.role}`]).filter(([, name]) => name);
    if (known.length > 1) row.append(choice(side, "end", known, side.which, (value) => { side.which = value; }));
    parent.append(row, " ");
  }
}

function build() {
  charts.listeners = [() => {
    document.getElementById("window").textContent = `${time(charts.from)} to ${time(charts.to)}`;
    toAddress();
  }];
  // the band in the charts follows the diagrams
  sequences.listeners = [() => charts.changed()];
  drawChoices();
  overview(sides);
  const parent = document.getElementById("notes");
  parent.replaceChildren();
  for (const side of sides) {
    const panel = element("div", { class: "panel" });
    parent.append(panel);
    notes(panel, side, several);
  }
  for (const draw of [drawCongestion, drawSequences, drawStreams, drawPackets, drawLinks]) draw();
  // at once: a pointer may be over a chart before the first frame
  charts.draw();
  sequences.draw();
}

function listen() {
  const acts = {
    back: () => charts.move(-charts.span / 4), on: () => charts.move(charts.span / 4),
    in: () => charts.zoom(0.5), out: () => charts.zoom(2), all: () => charts.all(),
  };
  for (const [name, act] of Object.entries(acts)) document.querySelector(`[data-act=${name}]`).addEventListener("click", act);
  addEventListener("resize", () => { charts.changed(); sequences.changed(); });
  addEventListener("hashchange", fromAddress);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readTheme();
    build();
  });
}

readTheme();
// sequences redraw the charts, too
detail.changed = () => { charts.changed(); sequences.changed(); };
if (!fromAddress()) sequences.home();
build();
listen();
