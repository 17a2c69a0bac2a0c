// Queues and rates of the links. A link has the same colour on both sides.

function linkColours(sides) {
  const names = [...new Set(sides.flatMap((side) => side.links.map(({ name }) => name)))].sort();
  return Object.fromEntries(names.map((name, index) => [name, CYCLE[index % CYCLE.length]]));
}

// When events have changed a link.
function changeMarks(links, colours) {
  return links.filter(({ changes }) => changes.t.length).map(({ name, changes }) => ({
    label: `${name} changed by an event`, kind: "plus", colour: colours[name], t: changes.t,
    text: (i) => `${name}, ${time(changes.t[i])}: ${changes.text[i]}`,
  }));
}

function queueSpec(links, colours, until) {
  const series = links.filter(({ queue }) => queue).map(({ name, queue }) => ({ label: name, kind: "step", colour: colours[name], until, ...queue }));
  for (const { name, drops } of links) {
    if (drops.length) series.push({ label: `dropped by ${name}`, kind: "cross", colour: colours[name], t: drops, text: (i) => `dropped by ${name} ${time(drops[i])}` });
  }
  series.push(...changeMarks(links, colours));
  return { title: "Queue [packets], the one in service included", unit: "packets", height: 180, series };
}

function rateSpec(links, colours, until) {
  const series = [];
  for (const { name, rate, capacity, changes } of links) {
    if (rate) series.push({ label: name, kind: "step", colour: colours[name], until, ...rate });
    if (rate && capacity) series.push({ label: `${name}: rate of the link`, kind: "dash", colour: colours[name], until, t: [0, ...changes.t], v: [capacity, ...changes.v] });
  }
  series.push(...changeMarks(links, colours));
  return { title: "Rate at the output of the link", unit: "kbps", height: 180, series };
}
