// The sequence diagram: packets of one flow between its two ends, time downwards.
import { contextOf } from "./chart.js";
import { round } from "./quantity.js";

const [ARRIVAL, DEPARTURE, DROP] = [0, 1, 2];
// Longest time that a packet is looked for before the window in which it arrives, and the most rows of the recording.
const LONGEST_TRIP_S = 2;
const MAX_ROWS = 20_000;
// Packets that are drawn; of more, only some, and all that are lost.
const MAX_DRAWN = 600;
const MARGIN = { side: 62, top: 24, bottom: 8 };

// Packets of `flow` in transit at some time from `from` to `to`: {down, sentS, receivedS, droppedS, at, size}.
export function tripsOf(recording, flow, from, to) {
  const { time, element, event, direction, flow: flows, size, packet } = recording.packets;
  const number = recording.flows.indexOf(flow);
  const open = new Map();
  const [begin, end] = recording.rows(from, to);
  const [first, last] = recording.rows(from - LONGEST_TRIP_S, to + LONGEST_TRIP_S);
  const trips = [];
  for (let row = Math.max(first, begin - MAX_ROWS); row < Math.min(last, end + MAX_ROWS); row += 1) {
    if (flows[row] !== number) continue;
    const key = 2 * packet[row] + direction[row];
    if (event[row] === DEPARTURE) {
      const trip = { down: direction[row] === 0, sentS: time[row], size: size[row] };
      open.set(key, trip);
      trips.push(trip);
    } else {
      const trip = open.get(key);
      if (!trip) continue;
      if (event[row] === ARRIVAL) trip.receivedS = time[row];
      if (event[row] === DROP) Object.assign(trip, { droppedS: time[row], at: recording.elements[element[row]] });
    }
  }
  const over = ({ receivedS, droppedS }) => receivedS ?? droppedS ?? recording.timeS;
  return trips.filter((trip) => trip.sentS <= to && over(trip) >= from);
}

// Counts for the text beside the picture.
export function countTrips(trips) {
  const data = trips.filter(({ down }) => down).length;
  const lost = trips.filter(({ droppedS }) => droppedS !== undefined).length;
  return { data, replies: trips.length - data, lost };
}

// One packet in so many is drawn.
const share = (trips) => Math.ceil(trips.length / MAX_DRAWN);

// Draws the trips from `from` to `to`.
export function drawSequence(canvas, trips, { from, to, colours }) {
  const { context, width, height } = contextOf(canvas);
  const [left, right] = [MARGIN.side, width - MARGIN.side];
  const y = (seconds) => MARGIN.top + ((seconds - from) / (to - from)) * (height - MARGIN.top - MARGIN.bottom);
  context.fillStyle = colours.text;
  context.textBaseline = "top";
  context.textAlign = "center";
  context.fillText("sender", left, 6);
  context.fillText("receiver", right, 6);
  context.strokeStyle = colours.grid;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const ticks = 5;
  for (let tick = 0; tick <= ticks; tick += 1) {
    const seconds = from + ((to - from) * tick) / ticks;
    context.beginPath();
    context.moveTo(left, y(seconds));
    context.lineTo(right, y(seconds));
    context.stroke();
    const milliseconds = to - from < 0.02 ? (seconds * 1000).toFixed(1) : Math.round(seconds * 1000);
    context.fillText(`${milliseconds} ms`, left - 6, y(seconds));
  }
  context.strokeStyle = colours.text;
  for (const x of [left, right]) {
    context.beginPath();
    context.moveTo(x, MARGIN.top);
    context.lineTo(x, height - MARGIN.bottom);
    context.stroke();
  }
  context.save();
  context.beginPath();
  context.rect(0, MARGIN.top, width, height - MARGIN.top - MARGIN.bottom);
  context.clip();
  const lengths = usualLengths(trips);
  const every = share(trips);
  const drawn = trips.filter(({ droppedS }, number) => droppedS !== undefined || number % every === 0);
  const place = ({ down, sentS, receivedS, droppedS }) => {
    const [start, end] = down ? [left, right] : [right, left];
    const lost = droppedS !== undefined;
    // a lost packet ends halfway
    const endS = lost ? Math.max(droppedS, sentS) : receivedS ?? sentS + lengths[down];
    return { start, startY: y(sentS), end: lost ? (start + end) / 2 : end, endY: y(endS), arrives: receivedS !== undefined };
  };
  const kinds = [
    { colour: colours.lines[0], chosen: ({ down, droppedS }) => down && droppedS === undefined },
    { colour: colours.lines[1], chosen: ({ down, droppedS }) => !down && droppedS === undefined },
    { colour: colours.bad, chosen: ({ droppedS }) => droppedS !== undefined, lost: true },
  ];
  for (const { colour, chosen, lost } of kinds) drawTrips(context, drawn.filter(chosen).map(place), { colour, lost });
  context.restore();
}

// Duration of the last trip that is over, to the receiver and back, for packets in transit.
function usualLengths(trips) {
  const lengths = { true: 0.01, false: 0.01 };
  for (const { down, sentS, receivedS } of trips) if (receivedS !== undefined) lengths[down] = receivedS - sentS;
  return lengths;
}

// All trips of one colour, as one path: thousands of paths take too long.
function drawTrips(context, places, { colour, lost }) {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = lost ? 1.5 : 1;
  context.beginPath();
  for (const { start, startY, end, endY } of places) {
    context.moveTo(start, startY);
    context.lineTo(end, endY);
    if (!lost) continue;
    context.moveTo(end - 4, endY - 4);
    context.lineTo(end + 4, endY + 4);
    context.moveTo(end - 4, endY + 4);
    context.lineTo(end + 4, endY - 4);
  }
  context.stroke();
  context.beginPath();
  for (const { end, endY, arrives } of places) if (arrives && !lost) context.rect(end - 1.5, endY - 1.5, 3, 3);
  context.fill();
}

// What the picture shows, in a sentence.
export function sequenceText(trips, from, to) {
  const { data, replies, lost } = countTrips(trips);
  const span = `${round(from * 1000, 5)} to ${round(to * 1000, 5)} ms`;
  const some = share(trips) > 1 ? `; one in ${share(trips)} is drawn` : "";
  return `${span}: ${data} packets to the receiver, ${replies} back, ${lost} lost${some}`;
}
