// The chart of one series: value, prediction, interval, events, and the fan of a forecast.

import { place } from "./format.js";

const BANDS = [["0.05", "0.95", 0.13], ["0.1", "0.9", 0.14], ["0.25", "0.75", 0.2]];
const still = matchMedia("(prefers-reduced-motion: reduce)");

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { ink: of("--ink"), muted: of("--muted"), line: of("--line"), card: of("--card"), blue: of("--blue"), red: of("--red") };
}

// #rrggbb with an opacity.
function faint(colour, opacity) {
  const part = (at) => parseInt(colour.slice(at, at + 2), 16);
  return `rgba(${part(1)},${part(3)},${part(5)},${opacity})`;
}

export class Chart {
  constructor(element) {
    this.element = element;
    this.count = 240;
    this.paused = false;
    this.fan = null;
    this.spot = null;
    this.drawn = 0;
    new ResizeObserver(() => this.soon()).observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.soon());
    window.addEventListener("load", () => this.soon());
  }

  show(rows) {
    this.rows = rows;
    this.fan = null;
    this.spot = null;
    this.next = null;
    this.soon();
  }

  // Pictures follow values at five a second at most, and at one where motion is not wanted.
  soon() {
    if (this.due) return;
    const wait = Math.max(0, this.drawn + (still.matches ? 1000 : 200) - performance.now());
    this.due = setTimeout(() => requestAnimationFrame(() => { this.due = null; this.draw(); }), wait);
  }

  draw() {
    if (!window.Plotly || !this.rows || !this.element.clientWidth) return;
    this.drawn = performance.now();
    const c = colours(), rows = this.rows;
    const begin = this.count && !this.spot ? Math.max(0, rows.length - this.count) : 0;
    const part = rows.slice(begin);
    const x = part.map((row) => row.x);
    const column = (name) => part.map((row) => row[name]);
    const marked = part.filter((row) => row.event > 0 && row.value !== null);
    const line = { shape: "linear", simplify: true };
    const traces = [
      { x, y: column("lower"), mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, name: "lower" },
      { x, y: column("upper"), mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: faint(c.blue, 0.16), name: "interval", hoverinfo: "skip" },
      { x, y: column("point"), mode: "lines", name: "predicted", line: { ...line, color: c.blue, width: 1.4, dash: "dot" } },
      { x, y: column("value"), mode: part.length < 60 ? "lines+markers" : "lines", name: "value", line: { ...line, color: c.ink, width: 1.9 }, marker: { size: 4, color: c.ink } },
      { x: marked.map((row) => row.x), y: marked.map((row) => row.value), mode: "markers", name: "event",
        marker: { color: c.red, size: 10, line: { color: c.card, width: 2 } }, showlegend: marked.length > 0 },
      ...this.fanTraces(c),
      ...this.nextTrace(c),
    ];
    window.Plotly.react(this.element, traces, this.layout(c, part), { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: "reset" });
    this.element.dataset.points = part.length;
    this.element.dataset.fan = this.fan ? this.fan.point.length : 0;
  }

  // What is predicted of the value to come, where it is due.
  nextTrace(c) {
    const last = this.rows.at(-1), next = this.next;
    if (!next || next.point === null || next.lower === null || this.spot) return [];
    const error = { type: "data", symmetric: false, array: [next.upper - next.point], arrayminus: [next.point - next.lower], color: faint(c.blue, 0.55), thickness: 5, width: 0 };
    return [{ x: [later(last, next.dt)], y: [next.point], error_y: error, mode: "markers", name: "next", marker: { color: c.blue, size: 8, line: { color: c.card, width: 1.5 } } }];
  }

  // As high as the values, with their intervals as far as these stay near: one wild prediction must not flatten the rest.
  range(part) {
    const known = part.map((row) => row.value).filter((value) => value !== null);
    if (!known.length) return undefined;
    let low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
    const span = high - low || Math.abs(high) || 1;
    const near = [low - 0.4 * span, high + 0.4 * span];
    const said = part.flatMap((row) => [row.lower, row.upper]).filter((value) => value !== null && value !== undefined);
    if (this.next?.point !== null && this.next) said.push(this.next.lower, this.next.upper);
    if (this.fan) said.push(...this.fan.quantiles["0.05"], ...this.fan.quantiles["0.95"]);
    for (const value of said) {
      if (value === null) continue;
      low = Math.max(near[0], Math.min(low, value));
      high = Math.min(near[1], Math.max(high, value));
    }
    const air = 0.06 * (high - low || 1);
    return [low - air, high + air];
  }

  fanTraces(c) {
    if (!this.fan) return [];
    const { x, quantiles, point } = this.fan;
    const edge = (q) => ({ x, y: quantiles[q], mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, name: `q${q}` });
    const bands = BANDS.flatMap(([low, high, opacity]) => [
      edge(low), { ...edge(high), fill: "tonexty", fillcolor: faint(c.blue, opacity) },
    ]);
    return [...bands, { x, y: point, mode: "lines", name: "forecast", line: { color: c.blue, width: 2.2 } }];
  }

  layout(c, part) {
    const axis = { showgrid: false, zeroline: false, linecolor: c.line, tickfont: { color: c.muted, size: 12 } };
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", uirevision: this.spot ? `${this.spot.x}` : this.key,
      font: { family: "system-ui, sans-serif", size: 13, color: c.ink }, margin: { l: 52, r: 14, t: this.element.clientWidth < 520 ? 66 : 34, b: 40 }, hovermode: "x unified",
      hoverlabel: { bgcolor: c.card, bordercolor: c.line, font: { color: c.ink } }, dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)", traceorder: "normal", font: { size: 12, color: c.muted } },
      xaxis: { ...axis, tickangle: 0, nticks: this.element.clientWidth < 520 ? 4 : 9, type: typeof part[0]?.x === "string" ? "date" : "linear", hoverformat: typeof part[0]?.x === "string" ? "%H:%M:%S.%2f" : undefined },
      yaxis: { ...axis, showgrid: true, gridcolor: c.line, range: this.range(part) }, shapes: [],
    };
    if (this.fan) layout.shapes.push(upright(this.fan.from, c.muted, "dot"));
    if (this.spot) {
      layout.shapes.push(upright(this.spot.x, c.red, "solid"));
      layout.xaxis.range = this.spot.range;
    }
    return layout;
  }

  forecast(made, last) {
    const x = made.time.map((time, at) => place(time, last.count + 1 + at));
    const join = (column) => [last.value, ...column];
    const quantiles = Object.fromEntries(Object.entries(made.quantiles).map(([q, column]) => [q, join(column)]));
    this.fan = { x: [last.x, ...x], point: join(made.point), quantiles, from: last.x };
    this.soon();
  }

  // Zoom to one row, and mark it.
  jump(at) {
    const left = this.rows[Math.max(0, at - 40)].x, end = this.rows[Math.min(this.rows.length - 1, at + 40)];
    const right = later(end, 3 * (this.next?.dt ?? 1)); // room for a mark on the last value
    this.spot = { x: this.rows[at].x, range: [left, right] };
    this.soon();
  }

  follow() {
    this.spot = null;
    this.soon();
  }
}

// The place of the value after a row, dt seconds later.
function later(row, dt) {
  if (typeof row.x === "string") return new Date(Date.parse(row.time) + 1000 * dt).toISOString().replace("Z", "");
  return row.time === null ? row.x + 1 : row.x + dt;
}

function upright(x, color, dash) {
  return { type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line: { color, width: 1, dash } };
}
