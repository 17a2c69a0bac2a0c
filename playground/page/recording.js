// Packets that are kept: of longer runs, the last ones.
const MAX_PACKETS = 2_000_000;

// What one run has recorded so far: columns by element and metric, and packets at endpoints.
export class Recording {
  constructor(elements, scenario) {
    this.elements = elements;
    this.scenario = scenario;
    this.flows = Object.keys(scenario.flows);
    this.series = new Map();
    this.packets = { time: [], element: [], event: [], direction: [], flow: [], size: [], packet: [] };
    this.timeS = 0;
  }

  add({ series, packets }) {
    series.value.forEach((value, row) => {
      const key = `${this.elements[series.element[row]]}/${series.metric_names[series.metric[row]]}`;
      let column = this.series.get(key);
      if (!column) this.series.set(key, (column = { time: [], value: [] }));
      column.time.push(series.time_ns[row] / 1e9);
      column.value.push(value);
    });
    const { time, element, event, direction, flow, size, packet } = this.packets;
    packets.time_ns.forEach((instant, row) => {
      time.push(instant / 1e9);
      element.push(packets.element[row]);
      event.push(packets.event[row]);
      direction.push(packets.direction[row]);
      flow.push(packets.flow[row]);
      size.push(packets.size_bytes[row]);
      packet.push(packets.packet[row]);
    });
    if (time.length > MAX_PACKETS) {
      for (const name of Object.keys(this.packets)) this.packets[name] = this.packets[name].slice(-MAX_PACKETS / 2);
    }
  }

  column(element, metric) {
    return this.series.get(`${element}/${metric}`);
  }

  // Mbit/s over the last `windowS` at each sample of a counter of bytes.
  rate(element, metric, windowS) {
    const column = this.column(element, metric);
    if (!column) return undefined;
    const { time, value } = column;
    let first = 0;
    const rates = time.map((now, row) => {
      while (time[first] < now - windowS - 1e-9) first += 1;
      const seconds = now - time[first];
      return seconds > 0 ? ((value[row] - value[first]) * 8) / seconds / 1e6 : 0;
    });
    return { time, value: rates };
  }

  // Elements with a queue that can fill: links with a rate.
  bottlenecks() {
    const rated = (name) => {
      const link = this.scenario.links[name];
      return link && (link.rate !== undefined || link.conditions !== undefined);
    };
    return this.elements.filter(rated);
  }

  // Rows of `packets` from time `from` to `to`.
  rows(from, to) {
    const { time } = this.packets;
    return [lowerBound(time, from), lowerBound(time, to)];
  }
}

// Index of the first item of a sorted list that is at least `value`.
export function lowerBound(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
