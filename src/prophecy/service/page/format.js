// Numbers and times as people read them.

export function number(value, digits = 5) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return value.toExponential(3).replace("e+", "e").replace("-", "−");
  const places = size === 0 ? 0 : Math.max(0, Math.min(8, digits - 1 - Math.floor(Math.log10(size))));
  const text = value.toLocaleString("en", { maximumFractionDigits: places, useGrouping: size >= 1e4 });
  return text.replaceAll(",", " ").replace("-", "−");
}

// As many digits as tell the ends of an interval apart.
export function interval(lower, upper) {
  if (lower === null || upper === null) return "no interval yet";
  const width = upper - lower, size = Math.max(Math.abs(lower), Math.abs(upper));
  const digits = width > 0 && size > 0 ? Math.max(3, Math.min(12, Math.ceil(Math.log10(size / width)) + 3)) : 5;
  return `${number(lower, digits)} … ${number(upper, digits)}`;
}

// Whether a row is among those of its series: not late, and not one that came before.
export const kept = (status) => status === "taken" || status === "missing";

export function whole(value) {
  return value.toLocaleString("en").replaceAll(",", " ");
}

// The longest usual unit of time that a step is not shorter than: its name, and its length in seconds.
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
export const unit = (step) => UNITS.find(([, length]) => step >= length) ?? UNITS.at(-1);

export function every(step) {
  const [name, length] = unit(step), count = number(step / length, 3);
  return count === "1" ? `every ${name}` : `every ${count} ${name}s`;
}

// Dates come as ISO 8601 in UTC; they are shown in UTC too, as in the chart.
export function moment(time, short = false) {
  if (time === null || time === undefined) return "";
  if (typeof time === "number") return `t = ${number(time, 9)}`;
  const [day, rest] = time.replace("Z", "").split("T");
  const clock = rest.replace(/\.\d+$/, "");
  if (short && day === new Date().toISOString().slice(0, 10)) return `${clock} UTC`;
  return clock === "00:00:00" ? day : `${day} ${clock} UTC`;
}

// What Plotly takes: dates without the zone (it draws them as they are written), numbers, or a count.
export function place(time, count) {
  if (time === null) return count;
  return typeof time === "number" ? time : time.replace("Z", "");
}

// What of an event's row was rarest, in words.
const REASONS = { error: "far from its prediction", change: "an unusual change", value: "an unusual value", level: "an unusual level", noise: "unusual noise" };
export const reason = (kind) => REASONS[kind] ?? kind ?? "";

export function odds(score) {
  if (score === null || score === undefined) return "";
  if (score < 1) return "as expected";
  return score > 6 ? "less than one in a million" : `one in ${whole(Math.round(10 ** score))}`;
}
