// The sequence diagram: packets of one flow between its two ends, time downwards.
import { contextOf } from "./chart.js";
import { round } from "./quantity.js";

const [ARRIVAL, DEPARTURE, DROP] = [0, 1, 2];
// Longest time that a packet is looked for before the window in which it arrives.
const LONGEST_TRIP_S = 2;
const MARGIN = { side: 62, top: 24, bottom: 8 };

// Packets of `flow` in transit at some time from `from` to `to`: {down, sentS, receivedS, droppedS, at, size}.
export function tripsOf(recording, flow, from, to) {
  const { time, element, event, direction, flow: flows, size, packet } = recording.packets;
  const number = recording.flows.indexOf(flow);
  const open = new Map();
  const [first, last] = recording.rows(from - LONGEST_TRIP_S, to + LONGEST_TRIP_S);
  const trips = [];
  for (let row = first; row < last; row += 1) {
    if (flows[row] !== number) continue;
    const key = `${direction[row]}/${packet[row]}`;
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
  for (const trip of trips) drawTrip(context, trip, { left, right, y, lengths, colours });
  context.restore();
}

// Duration of the last trip that is over, to the receiver and back, for packets in transit.
function usualLengths(trips) {
  const lengths = { true: 0.01, false: 0.01 };
  for (const { down, sentS, receivedS } of trips) if (receivedS !== undefined) lengths[down] = receivedS - sentS;
  return lengths;
}

function drawTrip(context, { down, sentS, receivedS, droppedS }, { left, right, y, lengths, colours }) {
  const [start, end] = down ? [left, right] : [right, left];
  const lost = droppedS !== undefined;
  const colour = lost ? colours.bad : colours.lines[down ? 0 : 1];
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = lost ? 1.5 : 1;
  // a lost packet ends halfway
  const share = lost ? 0.5 : 1;
  const endX = start + (end - start) * share;
  const endY = y(lost ? Math.max(droppedS, sentS) : receivedS ?? sentS + lengths[down]);
  context.beginPath();
  context.moveTo(start, y(sentS));
  context.lineTo(endX, endY);
  context.stroke();
  if (lost) {
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(endX - 4, endY - 4);
    context.lineTo(endX + 4, endY + 4);
    context.moveTo(endX - 4, endY + 4);
    context.lineTo(endX + 4, endY - 4);
    context.stroke();
  } else if (receivedS !== undefined) {
    context.beginPath();
    context.arc(endX, endY, 2, 0, 2 * Math.PI);
    context.fill();
  }
}

// What the picture shows, in a sentence.
export function sequenceText(trips, from, to) {
  const { data, replies, lost } = countTrips(trips);
  const span = `${round(from * 1000, 5)} to ${round(to * 1000, 5)} ms`;
  return `${span}: ${data} packets to the receiver, ${replies} back, ${lost} lost`;
}
