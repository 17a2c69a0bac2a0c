// Lessons: a question, the settings of an experiment, and an answer whose numbers come from the runs.
import { copy, get, set } from "./settings.js";
import { round } from "./quantity.js";

// The settings of a lesson: side B is side A with the changes of `b`.
export function settingsOf({ scenario, b, seed }) {
  const other = copy(scenario);
  for (const [path, value] of Object.entries(b)) set(other, path.split("."), value);
  return [scenario, other].map((one) => ({ scenario: one, seed }));
}

// Value of a term such as `a flows.main.goodput_mbps`, a number, or a quotient, product or sum of terms (from the left).
export function evaluate(term, results) {
  const parts = term.split(/\s+([/*+-])\s+/);
  const value = (text) => {
    if (/^[0-9.]+$/.test(text)) return Number(text);
    const [, side, path] = /^([ab])\s+(\S+)$/.exec(text) ?? [];
    const found = get(results[side]?.result ?? results[side], (path ?? "").split("."));
    if (typeof found !== "number") throw new Error(`lesson: expected a number at ${text}, got ${found}`);
    return found;
  };
  let total = value(parts[0].trim());
  for (let index = 1; index < parts.length; index += 2) {
    const operand = value(parts[index + 1].trim());
    if (parts[index] === "/") total /= operand;
    if (parts[index] === "*") total *= operand;
    if (parts[index] === "+") total += operand;
    if (parts[index] === "-") total -= operand;
  }
  return total;
}

// The answer with the numbers of these results (by `a` and `b`) in place of its terms.
export function answerOf({ answer }, results) {
  return answer.replace(/\{([^}]+)\}/g, (_, term) => round(evaluate(term, results)));
}

// The conditions on which the words of the answer rest, such as `a x < b y`: those that do not hold.
export function failedConditions({ holds }, results) {
  return holds.filter((condition) => {
    const [left, right] = condition.split(/\s+<\s+/);
    return !(evaluate(left, results) < evaluate(right, results));
  });
}
