// The table of all endpoints, and the list of omitted data.

const MISSING = "–: not recorded, or of no meaning for this protocol. QUIC stacks written in Rust record most of these with record.qlog, all others what record.packets, record.acks and record.series_interval have.";

function overview(sides) {
  const columns = [];
  for (const side of sides) {
    side.connection.ends.forEach((end) => {
      if (end) columns.push({ key: side.key, end });
    });
  }
  const table = document.getElementById("facts");
  const heads = columns.map(({ key, end }) => (sides.length > 1 ? `${key}: ${end.role}` : end.role));
  table.replaceChildren(headRow(["", ...heads]));
  const body = element("tbody");
  const labels = columns[0].end.facts.map(([label]) => label);
  labels.forEach((label, row) => {
    const values = columns.map(({ end }) => end.facts[row][1]);
    if (values.every((value) => value === null)) return;
    const cells = values.map((value) => element("td", { text: number(value, 2) }));
    body.append(element("tr", {}, element("th", { scope: "row", text: label }), ...cells));
  });
  table.append(body);
  const gaps = [...body.querySelectorAll("td")].some((cell) => cell.textContent === "–");
  document.getElementById("facts-note").textContent = gaps ? MISSING : "";
}

const parameter = (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : number(value));

// Transport parameters, one row each; most differ between the endpoints.
function parameters(panel, end) {
  const whose = Object.keys(end.parameters).filter((name) => Object.keys(end.parameters[name]).length);
  if (!whose.length) return;
  const names = [...new Set(whose.flatMap((name) => Object.keys(end.parameters[name])))].sort();
  const table = element("table", {}, headRow(["", ...whose]));
  for (const name of names) {
    const cells = whose.map((side) => element("td", { text: parameter(end.parameters[side][name] ?? null) }));
    table.append(element("tr", {}, element("th", { scope: "row", text: name }), ...cells));
  }
  const summary = element("summary", { text: `Transport parameters of the ${end.role}` });
  panel.append(element("details", {}, summary, element("div", { class: "scroll" }, table)));
}

function notes(parent, side, several) {
  const { connection } = side;
  const texts = [...side.warnings, ...connection.notes];
  for (const end of connection.ends) if (end) texts.push(...end.notes.map((note) => `${end.role}: ${note}`));
  if (side.part) texts.unshift(`Only ${time(side.part[0])} to ${time(side.part[1])} is in this report (--from, --to); numbers below the charts are those of the whole run, where they do not say otherwise.`);
  if (!texts.length) texts.push("All recorded data is shown.");
  const list = element("ul", { class: "notes" }, ...texts.map((text) => element("li", { text })));
  if (several) parent.append(element("span", { class: `key key-${side.key}`, text: side.key }));
  parent.append(list);
  for (const end of connection.ends) if (end) parameters(parent, end);
}
