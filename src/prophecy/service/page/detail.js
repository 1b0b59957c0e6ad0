// One series, live: its newest value, what is predicted next, the chart, and what it says of itself.

import { address, request } from "./api.js";
import { Chart } from "./chart.js";
import { every, interval, kept, moment, number, odds, place, unit, whole } from "./format.js";

const get = (id) => document.getElementById(id);
const KEPT = 20_000; // values held in the page for the series that is open
const REFRESH = 1_500; // milliseconds between requests for slope and explanation

export class Detail {
  constructor(gone) {
    this.gone = gone;
    this.key = null;
    this.rows = [];
    this.chart = new Chart(get("chart"));
    get("window").addEventListener("change", () => { this.chart.count = Number(get("window").value); this.chart.follow(); });
    get("pause").addEventListener("click", () => this.pause());
    get("forecast").addEventListener("click", () => this.forecast());
    get("clear").addEventListener("click", () => this.clear());
    get("remove").addEventListener("click", () => this.remove());
    setInterval(() => this.refresh(), REFRESH);
  }

  // Values that come live while the past is being fetched wait; `cursor` says which of them the past has already.
  async open(key, seed = null) {
    const turn = (this.turn = Symbol("open")); // whoever opens last is shown
    this.key = key;
    this.chart.key = key;
    this.rows = [];
    this.waiting = [];
    this.received = 0;
    this.clear();
    let found;
    try {
      found = await request(`${address(key)}?count=5000`);
    } catch (error) {
      if (error.status === 404 && this.turn === turn) this.gone(key);
      return;
    }
    if (this.turn !== turn) return;
    const past = seed && seed.value.length > found.recent.value.length ? seed : found.recent;
    const first = found.count - past.value.length;
    past.value.forEach((value, at) => this.push({
      count: first + at, x: place(past.time[at], first + at), time: past.time[at], value, point: past.point[at], lower: past.lower[at],
      upper: past.upper[at], score: past.score[at], event: past.event[at],
    }));
    this.cursor = found.cursor;
    const early = this.waiting;
    this.waiting = null;
    for (const row of early) this.take(row);
    this.about(found);
    this.chart.show(this.rows);
    this.tiles(found);
    this.chart.next = { point: found.point, lower: found.lower, upper: found.upper, dt: this.dt };
    this.count();
  }

  values(columns) {
    let last = null;
    columns.key.forEach((key, at) => {
      if (key !== this.key) return;
      const row = { number: columns.number[at] };
      for (const name of ["time", "value", "point", "lower", "upper", "score", "event", "status", "next", "next_lower", "next_upper"]) row[name] = columns[name][at];
      if (this.waiting) this.waiting.push(row);
      else if (this.take(row)) last = row;
    });
    if (last) {
      this.fresh = true;
      this.tiles({ ...last, point: last.next, lower: last.next_lower, upper: last.next_upper });
      this.chart.next = { point: last.next, lower: last.next_lower, upper: last.next_upper, dt: this.dt };
      this.count();
      if (!this.chart.paused && !this.chart.spot) this.chart.soon();
    }
  }

  take(row) {
    if (row.number <= this.cursor) return false;
    this.received += 1;
    if (!kept(row.status)) return false;
    const count = this.rows.length ? this.rows.at(-1).count + 1 : 0;
    this.push({ ...row, count, x: place(row.time, count) });
    return true;
  }

  push(row) {
    this.rows.push(row);
    if (this.rows.length > KEPT) this.rows.splice(0, KEPT / 10);
  }

  count() {
    get("received").dataset.count = this.received;
    get("received").textContent = this.received ? `${whole(this.received)} values came while you watched` : "";
  }

  tiles(row) {
    get("value").textContent = number(row.value);
    get("when").textContent = moment(row.time, true);
    get("next").textContent = number(row.point);
    get("interval").textContent = interval(row.lower, row.upper);
    get("score").textContent = row.score === null ? "–" : row.score.toFixed(1);
    get("odds").textContent = odds(row.score);
    get("score").parentElement.classList.toggle("hot", row.event > 0 && row.score > 2);
  }

  about(found) {
    get("name").textContent = found.key;
    this.dt = found.dt ?? 1;
    const facts = [`${whole(found.count)} values`];
    if (found.dt !== null && found.time !== null) facts.push(every(found.dt));
    if (found.seasons.length) facts.push(`season of ${found.seasons.map((s) => number(s, 3)).join(" and ")} values`);
    if (found.event_time !== null) facts.push(`last event ${moment(found.event_time, true)}`);
    get("facts").textContent = facts.join(" · ");
    const [per, length] = found.time === null || found.dt === null ? ["value", 1] : unit(found.dt);
    get("slope").textContent = number(found.derivative === null ? null : found.derivative * length, 4);
    get("per").textContent = `per ${per}`;
    const lines = found.words.split("\n").filter((line) => line.trim());
    paragraphs(get("words"), lines);
    get("chart").setAttribute("aria-label", `Chart of ${found.key}: ${get("value").textContent}, next ${get("next").textContent}`);
  }

  async refresh() {
    if (!this.key || !this.fresh || this.waiting || document.hidden) return;
    this.fresh = false;
    const key = this.key;
    try {
      const found = await request(`${address(key)}?count=1`);
      if (this.key === key) this.about(found);
    } catch (error) {
      if (error.status === 404 && this.key === key) this.gone(key);
    }
  }

  pause() {
    this.stay(!this.chart.paused);
    if (!this.chart.paused) this.chart.follow();
  }

  stay(still) {
    this.chart.paused = still;
    get("pause").setAttribute("aria-pressed", String(still));
    get("pause").textContent = still ? "Go on" : "Pause";
  }

  async forecast() {
    const key = this.key, button = get("forecast");
    if (!key || button.disabled || !this.rows.length) return;
    button.disabled = true;
    button.textContent = "Computing …";
    try {
      const made = await request(`/v1/forecast?key=${encodeURIComponent(key)}&horizon=${get("horizon").value}`);
      if (this.key !== key) return;
      const last = this.rows.findLast((row) => before(row, made)) ?? this.rows.at(-1);
      this.chart.forecast(made, last);
      if (this.chart.spot) this.chart.follow();
      paragraphs(get("ahead"), [`Forecast of ${made.horizon} values by ${made.method}. Bands hold the truth with probability 0.5, 0.8 and 0.9.`, ...made.notes]);
      get("ahead").hidden = get("clear").hidden = false;
    } catch (error) {
      paragraphs(get("ahead"), [`No forecast: ${error.message}. ${error.way_out ?? ""}`]);
      get("ahead").hidden = get("clear").hidden = false;
    } finally {
      button.disabled = false;
      button.textContent = "Forecast";
    }
  }

  clear() {
    this.chart.fan = null;
    get("ahead").hidden = get("clear").hidden = true;
    this.chart.soon();
  }

  // Show one event in the chart; false where it is older than the values kept.
  jump(event) {
    const at = this.rows.findLastIndex((row) => row.event === event.number);
    if (at < 0) return false;
    this.stay(true);
    this.chart.jump(at);
    return true;
  }

  async remove() {
    const key = this.key;
    if (!key || !confirm(`Forget ${key} and its ${whole(this.rows.length)} values shown here?`)) return;
    await request(address(key), { method: "DELETE" });
    this.gone(key);
  }
}

// Whether a row lies before a forecast's first step: values may have come while it was computed.
function before(row, made) {
  if (made.time[0] === null || row.time === null) return true;
  return row.value !== null && (typeof row.time === "number" ? row.time < made.time[0] : Date.parse(row.time) < Date.parse(made.time[0]));
}

function paragraphs(element, lines) {
  const texts = [...element.children].map((child) => child.textContent);
  if (texts.join("\n") === lines.join("\n")) return;
  element.replaceChildren(...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line.trim() })));
}
