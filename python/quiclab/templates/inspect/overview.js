// The table of all endpoints, and what the page does not show.

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
}

function notes(parent, side, several) {
  const { connection } = side;
  const texts = [...side.warnings, ...connection.notes];
  for (const end of connection.ends) if (end) texts.push(...end.notes.map((note) => `${end.role}: ${note}`));
  if (!texts.length) texts.push("Everything that was recorded is shown.");
  const list = element("ul", { class: "notes" }, ...texts.map((text) => element("li", { text })));
  if (several) parent.append(element("span", { class: `key key-${side.key}`, text: side.key }));
  parent.append(list);
}
