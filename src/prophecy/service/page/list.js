// The list of series: a small picture of each, its newest value, whether it has just raised an event.

import { request } from "./api.js";
import { kept, number, whole } from "./format.js";

const SHOWN = 100; // at a time; the rest is found by searching or "show more"
const KEPT = 80; // values of a small picture
const RECENT = 60_000; // milliseconds for which an event is marked

export class List {
  constructor(changed) {
    this.changed = changed;
    this.rows = new Map();
    this.current = null;
    this.shown = SHOWN;
    this.dirty = new Set();
    this.element = document.getElementById("list");
    this.search = document.getElementById("search");
    this.more = document.getElementById("more");
    this.search.addEventListener("input", () => {
      clearTimeout(this.later);
      this.later = setTimeout(() => { this.shown = SHOWN; this.load().catch(() => {}); }, 150);
    });
    this.more.addEventListener("click", () => { this.shown = Math.min(500, this.shown + SHOWN); this.load(); });
    new ResizeObserver(() => this.redraw()).observe(this.element);
  }

  keys() { return [...this.rows.keys()]; }

  async load() {
    const words = this.search.value.trim(), asked = (this.asked = Symbol("load"));
    const found = await request(`/v1/series?limit=${this.shown}&recent=${KEPT}&search=${encodeURIComponent(words)}`);
    if (asked !== this.asked) return;
    document.getElementById("total").textContent = whole(found.total);
    this.more.hidden = found.total <= found.series.length || this.shown >= 500;
    const old = this.rows;
    this.rows = new Map();
    for (const series of found.series) {
      const row = old.get(series.key) ?? this.make(series.key);
      row.values = series.recent.value;
      row.marks = series.recent.event.map((event) => event > 0);
      row.value = series.value;
      if (row.marks.slice(-30).some(Boolean)) row.eventful ??= Date.now();
      this.rows.set(series.key, row);
      this.dirty.add(series.key);
    }
    this.element.replaceChildren(...[...this.rows.values()].map((row) => row.item));
    const none = document.getElementById("none");
    none.hidden = found.total > 0 || !words;
    none.textContent = words ? `No series has “${words}” in its name.` : "";
    this.mark(this.current);
    this.draw();
    this.changed(found.total, words);
  }

  make(key) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = `#/series/${encodeURIComponent(key)}`;
    const name = Object.assign(document.createElement("span"), { className: "name", title: key });
    const cut = key.lastIndexOf("/") + 1; // what comes before the last slash is the place, not the name
    name.append(Object.assign(document.createElement("small"), { textContent: key.slice(0, cut) }), key.slice(cut) || key);
    const now = Object.assign(document.createElement("span"), { className: "now" });
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    link.append(name, canvas, now);
    item.append(link);
    return { item, link, now, canvas, values: [], marks: [], value: null, eventful: null };
  }

  mark(key) {
    this.current = key;
    for (const [name, row] of this.rows) row.link.setAttribute("aria-current", String(name === key));
  }

  step(by) {
    const keys = this.keys();
    if (!keys.length) return;
    const at = keys.indexOf(this.current);
    const next = keys[at < 0 ? 0 : (at + by + keys.length) % keys.length];
    location.hash = `#/series/${encodeURIComponent(next)}`;
    this.rows.get(next).item.scrollIntoView({ block: "nearest" });
  }

  values(columns) {
    columns.key.forEach((key, at) => {
      const row = this.rows.get(key);
      if (!row || !kept(columns.status[at])) return;
      row.values.push(columns.value[at]);
      row.marks.push(columns.event[at] > 0);
      if (row.values.length > KEPT) { row.values.shift(); row.marks.shift(); }
      if (columns.value[at] !== null) row.value = columns.value[at];
      if (columns.event[at] > 0) row.eventful = Date.now();
      this.dirty.add(key);
    });
  }

  redraw() { for (const key of this.rows.keys()) this.dirty.add(key); }

  draw() {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--soft"), red = style.getPropertyValue("--red");
    for (const key of this.dirty) {
      const row = this.rows.get(key);
      if (row) this.paint(row, ink, red);
    }
    this.dirty.clear();
  }

  paint(row, ink, red) {
    const lit = row.eventful !== null && Date.now() - row.eventful < RECENT;
    row.link.classList.toggle("eventful", lit);
    row.now.textContent = number(row.value);
    if (lit) row.now.append(" ", Object.assign(document.createElement("span"), { className: "chip", textContent: "event" }));
    const ratio = devicePixelRatio || 1, width = row.canvas.clientWidth, height = row.canvas.clientHeight;
    if (!width) return;
    row.canvas.width = width * ratio;
    row.canvas.height = height * ratio;
    const pen = row.canvas.getContext("2d"), known = row.values.filter((value) => value !== null);
    if (!known.length) return;
    pen.scale(ratio, ratio);
    const low = Math.min(...known), high = Math.max(...known), span = high - low || 1;
    const x = (at) => 3 + ((width - 6) * at) / Math.max(1, row.values.length - 1);
    const y = (value) => height - 4 - ((height - 8) * (high > low ? value - low : 0.5)) / span;
    pen.lineWidth = 1.4;
    pen.lineJoin = "round";
    pen.strokeStyle = ink;
    pen.beginPath();
    let down = false;
    row.values.forEach((value, at) => {
      if (value === null) { down = false; return; }
      if (down) pen.lineTo(x(at), y(value)); else pen.moveTo(x(at), y(value));
      down = true;
    });
    pen.stroke();
    pen.fillStyle = red;
    row.values.forEach((value, at) => {
      if (!row.marks[at] || value === null) return;
      pen.beginPath();
      pen.arc(x(at), y(value), 2.8, 0, 2 * Math.PI);
      pen.fill();
    });
  }
}
