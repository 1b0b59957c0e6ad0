// The page: which series is open, what the live channel brings, and the keyboard.

import { request, tokenFromAddress } from "./api.js";
import { Detail } from "./detail.js";
import { accept } from "./drop.js";
import { Events } from "./events.js";
import { kept, reason, whole } from "./format.js";
import { List } from "./list.js";
import { Live } from "./live.js";

const get = (id) => document.getElementById(id);
const narrow = matchMedia("(max-width: 56rem)");
tokenFromAddress();

const list = new List(listed);
const detail = new Detail(closed);
const events = new Events(jump);
let seeds = null, spot = null, opening = null, known = 0, flow = 0;

const live = new Live({
  state(text) {
    get("state").textContent = text;
    get("pulse").className = `pulse ${text === "live" ? "on" : "off"}`;
  },
  hello(fresh) { if (fresh) start(); },
  values(columns) {
    flow += columns.key.length;
    list.values(columns);
    detail.values(columns);
    list.draw();
  },
  events(found) {
    events.add(found);
    if (found.some((event) => !list.rows.has(event.key))) soon();
  },
  watching(request) { if (opening?.request === request) { const { key, seed } = opening; opening = null; open(key, seed); } },
  missed() { start(); },
});

// While the service is away nothing can be fetched; the live channel starts anew when it is back.
function away(error) { if (error.status) throw error; }

async function start() {
  try {
    await list.load();
    await events.load();
  } catch (error) { return away(error); }
  if (detail.key) show(detail.key);
  else route();
}

// What is watched is what is shown: the series in the list, and the one that is open.
function watch() {
  return live.watch([...new Set([...list.keys().slice(0, 400), ...(target() ? [target()] : [])])]);
}

function listed(total, words) {
  known = total;
  get("empty").hidden = total > 0 || Boolean(words) || Boolean(target());
  watch();
  if (!target() && total && !narrow.matches && !words) location.replace(`#/series/${encodeURIComponent(list.keys()[0])}`);
}

function target() {
  const found = /^#\/series\/(.+)$/.exec(location.hash);
  try { return found ? decodeURIComponent(found[1]) : null; } catch { return null; }
}

function route() {
  const key = target();
  document.body.classList.toggle("opened", Boolean(key));
  list.mark(key);
  if (key) show(key);
  else {
    detail.key = null;
    get("open").hidden = true;
    document.title = "prophecy";
    if (known && !narrow.matches && list.keys().length) location.replace(`#/series/${encodeURIComponent(list.keys()[0])}`);
  }
}

// The series is watched first and read after that, so that no value falls between the two.
function show(key) {
  document.title = `${key} · prophecy`;
  get("open").hidden = false;
  get("empty").hidden = true;
  get("name").textContent = key;
  detail.key = key;
  detail.waiting = [];
  detail.stay(false); // at once: whoever presses Pause while the past is being fetched means this series
  const seed = seeds?.get(key) ?? null;
  opening = { key, seed, request: watch() };
}

async function open(key, seed) {
  await detail.open(key, seed);
  if (spot?.key === key) { located(spot); spot = null; }
  if (narrow.matches) get("detail").focus({ preventScroll: true });
}

function closed(key) {
  if (detail.key === key) { detail.key = null; get("open").hidden = true; location.hash = "#/"; }
  list.load().catch(away);
}

function jump(event) {
  if (detail.key === event.key) located(event);
  else { spot = event; location.hash = `#/series/${encodeURIComponent(event.key)}`; }
}

function located(event) {
  const found = detail.jump(event);
  get("caption").textContent = found
    ? `Event ${event.number}${event.kind ? `: ${reason(event.kind)}` : ""}. “Go on” returns to the newest values.`
    : `Event ${event.number} is older than the values kept for the chart.`;
  get("detail").scrollIntoView({ block: "start" });
}

// New series appear by themselves; asked for at most every two seconds.
let later = null;
function soon() { later ??= setTimeout(() => { later = null; list.load().catch(away); }, 2000); }
setInterval(async () => {
  get("rate").textContent = whole(Math.round(flow / 2));
  flow = 0;
  list.redraw();
  list.draw();
  if (!document.hidden && !get("search").value) soon();
}, 2000);

accept((keys, columns) => {
  seeds = new Map(keys.map((key) => [key, { time: [], value: [], point: [], lower: [], upper: [], score: [], event: [] }]));
  columns.key.forEach((key, at) => {
    if (!kept(columns.status[at])) return;
    for (const [name, column] of Object.entries(seeds.get(key))) column.push(columns[name][at]);
  });
  list.load().then(() => {
    if (target() === keys[0]) show(keys[0]);
    else location.hash = `#/series/${encodeURIComponent(keys[0])}`;
  });
});

const THEMES = { "": "as the system", light: "light", dark: "dark" };
function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  get("theme").setAttribute("aria-label", `Colours: ${THEMES[name]}`);
  get("theme").title = `Colours: ${THEMES[name]}`;
  list.redraw();
  list.draw();
  detail.chart.soon();
}
get("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES), now = localStorage.getItem("prophecy-theme") ?? "";
  const next = names[(names.indexOf(now) + 1) % names.length];
  localStorage.setItem("prophecy-theme", next);
  theme(next);
});
theme(localStorage.getItem("prophecy-theme") ?? "");

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape" && event.target.id === "search") { event.target.value = ""; list.load(); event.target.blur(); }
    return;
  }
  const act = { "/": () => get("search").focus(), j: () => list.step(1), k: () => list.step(-1), f: () => detail.forecast(), p: () => detail.pause() }[event.key];
  if (act) { event.preventDefault(); act(); }
});
get("pause").addEventListener("click", () => { get("caption").textContent = "Each value with the prediction made before it came."; });
get("curl").textContent = `curl ${location.origin}/v1/observe -H 'Content-Type: application/json' \\\n  -d '{"key": "boiler", "value": 20.5}'`;
addEventListener("hashchange", route);
live.open();
