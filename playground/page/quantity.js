// Quantities with units, as scenarios have them: "20 Mbit/s", "1.5 ms", "64 kB", "0.1 %".
const UNITS = {
  rate: { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9 },
  duration: { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60 },
  size: { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1 << 20, GiB: 1 << 30 },
  probability: { "": 1, "%": 0.01 },
};
// Units in which values are written.
const WRITTEN = {
  rate: ["Gbit/s", "Mbit/s", "kbit/s", "bit/s"],
  duration: ["s", "ms", "us", "ns"],
  size: ["MB", "kB", "B"],
};

// Value in bit/s, seconds, bytes or as a share; null if `text` is no such quantity.
export function parseQuantity(kind, text) {
  const match = /^\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([^\s0-9]*)\s*$/.exec(String(text ?? ""));
  const factor = match && UNITS[kind][match[2]];
  return factor ? Number(match[1].replaceAll("_", "")) * factor : null;
}

export function writeQuantity(kind, value) {
  if (kind === "probability") return `${round(value * 100, 3)} %`;
  const units = WRITTEN[kind];
  const unit = units.find((name) => value >= UNITS[kind][name] * 0.9999999) ?? units.at(-1);
  return `${round(value / UNITS[kind][unit], 3)} ${unit}`;
}

// `value` with at most `digits` significant digits, never in exponential form.
export function round(value, digits = 3) {
  if (!Number.isFinite(value) || value === 0) return String(value || 0);
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(value.toFixed(Math.min(places, 9))));
}
