// Settings of the two sides: a scenario (JSON, as in its file) and a seed each; and their form in the URL.
import { parseQuantity, writeQuantity } from "./quantity.js";

export const FIRST_SCENARIO = {
  version: 1,
  name: "playground",
  duration: "20 s",
  until: "duration_over",
  links: {
    down: { rate: "20 Mbit/s", delay: "20 ms", queue: { kind: "drop_tail", bytes: "200 kB" } },
    up: { delay: "20 ms" },
  },
  flows: {
    main: {
      stack: "lab-tcp",
      sender: { congestion_control: "cubic" },
      down: ["down"],
      up: ["up"],
      workload: { kind: "download", duration: "20 s" },
    },
  },
};

// Samples of a run unless the scenario sets their interval itself.
const SAMPLES = 1000;

export const copy = (value) => structuredClone(value);

// The scenario with what the page draws in its recordings; neither changes the packets of the run.
export function withRecordings(scenario) {
  const seconds = parseQuantity("duration", scenario.duration) ?? 20;
  const step = Math.max(seconds / SAMPLES, 0.001);
  const record = { series_interval: writeQuantity("duration", Math.round(step * 1000) / 1000), ...scenario.record };
  return { ...scenario, record: { ...record, packets: true, qlog: false, pcapng: false } };
}

// Value at a path of names; undefined if a step is missing.
export function get(tree, path) {
  return path.reduce((found, step) => found?.[step], tree);
}

// Sets the value at a path, and removes it, with what is empty then, if it is undefined.
export function set(tree, path, value) {
  const [step, ...rest] = path;
  if (rest.length > 0) {
    tree[step] ??= {};
    set(tree[step], rest, value);
    if (value === undefined && Object.keys(tree[step]).length === 0) delete tree[step];
  } else if (value === undefined) delete tree[step];
  else tree[step] = value;
}

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

// Settings as the fragment of a URL: compressed JSON in the alphabet of base64url.
export async function toFragment(settings) {
  const text = new TextEncoder().encode(JSON.stringify(settings));
  const bytes = await through(text, new CompressionStream("deflate-raw"));
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `s=${base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

// Longest fragment that is unpacked.
const MAX_FRAGMENT = 65_536;

async function unpack(base64) {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const bytes = await through(packed, new DecompressionStream("deflate-raw"));
  return new TextDecoder().decode(bytes);
}

// Settings of a fragment; null without, an error if it is none of this page.
export async function fromFragment(fragment) {
  const match = /^#?s=([A-Za-z0-9_-]+)$/.exec(fragment);
  if (!match) return null;
  if (match[1].length > MAX_FRAGMENT) {
    throw new Error(`the link: expected at most ${MAX_FRAGMENT} characters, got ${match[1].length}`);
  }
  const damaged = () => {
    throw new Error("the link: expected settings from this page, got a damaged text");
  };
  const base64 = match[1].replaceAll("-", "+").replaceAll("_", "/");
  const text = await unpack(base64).catch(damaged);
  const settings = await Promise.resolve(text).then(JSON.parse).catch(damaged);
  const valid = (side) => side?.scenario && typeof side.scenario === "object" && Number.isSafeInteger(side.seed) && side.seed >= 0;
  if (!Array.isArray(settings?.sides) || settings.sides.length < 1 || !settings.sides.slice(0, 2).every(valid)) {
    throw new Error("the link: expected one or two settings with scenario and seed, got something else");
  }
  return settings.sides.slice(0, 2);
}
