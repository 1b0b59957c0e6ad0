// A CSV dropped on the page becomes series: one for every column of numbers, or for every key. The service says what its
// columns are; where it cannot tell, the person is asked.

import { request } from "./api.js";
import { whole } from "./format.js";

const HEAD = 262_144; // bytes looked at to find out what the columns are
const PIECE = 4_000_000; // characters of one request; the service takes 8 MB
const MOST = 40_000; // values of one request
const CSV = { "Content-Type": "text/csv" };
const get = (id) => document.getElementById(id);

export function accept(done) {
  const veil = get("veil");
  let depth = 0;
  const files = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (files(event)) { depth += 1; veil.hidden = false; } });
  addEventListener("dragleave", (event) => { if (files(event)) { depth -= 1; veil.hidden = depth > 0 ? veil.hidden : true; } });
  addEventListener("dragover", (event) => { if (files(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    take(event.dataTransfer.files[0], done);
  });
  get("file").addEventListener("change", (event) => { take(event.target.files[0], done); event.target.value = ""; });
}

async function take(file, done) {
  if (!file) return;
  say(`Reading ${file.name} …`);
  try {
    if (/\.(xlsx?|parquet|npy|gz|zip)$/i.test(file.name)) throw Object.assign(new Error("this page reads CSV"), { way_out: `Save it as CSV, or run: prophecy forecast ${file.name}` });
    const about = await columns(file);
    if (!about) return say(`${file.name}: not read.`);
    const name = file.name.replace(/\.\w+$/, "").replace(/[^\p{L}\p{N} _.\-]/gu, "_").trim().slice(0, 60) || "file";
    const query = { answers: "columns", sep: about.sep, header: "true" };
    if (!about.key) query.name = name;
    for (const part of ["key", "time", "time_format", "decimal"]) if (about[part]) query[part] = about[part];
    if (about.values.length === 1) query.value = about.values[0];
    const [pieces, doubled] = cut(await file.arrayBuffer(), about), taken = {}, notes = new Set(about.notes);
    if (doubled) notes.add(`${whole(doubled)} exact duplicate${doubled > 1 ? "s" : ""} dropped`);
    let late = 0, repeated = 0;
    for (const [at, body] of pieces.entries()) {
      const answer = await request(`/v1/observe?${new URLSearchParams(query)}`, { method: "POST", headers: CSV, body });
      for (const [column, values] of Object.entries(answer.columns)) { const all = (taken[column] ??= []); for (const value of values) all.push(value); }
      for (const note of answer.notes ?? []) notes.add(note);
      late += answer.late;
      repeated += answer.repeated;
      if (pieces.length > 1) say(`${file.name}: ${at + 1} of ${pieces.length} parts`);
    }
    const keys = [...new Set(taken.key)];
    const again = repeated ? `; ${whole(repeated)} were there already` : "";
    const put = (late ? `; ${whole(late)} were late and passed over` : "") + again;
    const said = notes.size ? ` (${[...notes].join("; ")})` : "";
    say(`${file.name}: ${whole(taken.key.length)} values of ${whole(keys.length)} series${put}${said}.`);
    done(keys, taken);
  } catch (error) {
    say(`${file.name}: ${error.message}.${advice(error.way_out)}`, true);
  }
}

// What the columns are: found by the service, or said by the person. Nothing where the person gave up.
async function columns(file) {
  const body = await file.slice(0, HEAD).arrayBuffer(), said = {};
  for (;;) {
    const found = await request(`/v1/table?${new URLSearchParams(said)}`, { method: "POST", headers: CSV, body });
    if (!found.error) return found;
    if (!(await ask(found, said))) return null;
  }
}

// A dialog with a choice of columns for time, value and key; what is chosen is put into `said`.
function ask(found, said) {
  const dialog = get("columns"), parts = { time: "", value: "", key: "" };
  const proposed = Object.fromEntries([...(found.way_out ?? "").matchAll(/[?]([a-z_]+)=(.+?)(?=, or |; |$)/g)].map(([, name, value]) => [name, value]));
  get("columns-why").textContent = `${upper(found.error)}.${proposed.key ? " This key is chosen below." : advice(found.way_out)}`;
  for (const part of Object.keys(parts)) {
    const none = new Option(part === "value" ? "all columns of numbers" : "none, or found by itself", "");
    get(`column-${part}`).replaceChildren(none, ...found.names.map((name, at) => new Option(`${name || "(no name)"}: ${found.rows.slice(0, 3).map((row) => row[at]).join(", ")} …`, name)));
    get(`column-${part}`).value = said[part] ?? "";
  }
  if (!said.key && proposed.key) {
    if (!found.names.includes(proposed.key)) get("column-key").add(new Option(proposed.key)); // several columns together
    get("column-key").value = proposed.key;
  }
  get("column-format").value = said.time_format ?? "";
  get("column-format").placeholder = proposed.time_format ?? "found by itself";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    for (const part of Object.keys(parts)) { if (get(`column-${part}`).value) said[part] = get(`column-${part}`).value; else delete said[part]; }
    if (get("column-format").value.trim()) said.time_format = get("column-format").value.trim(); else delete said.time_format;
    resolve(dialog.returnValue === "read");
  }, { once: true }));
}

// The ways out that a person at the page has: all but those by an address (?decimal=,).
function advice(way_out) {
  const ways = (way_out ?? "").split(/, or |; /).filter((way) => way && !/[?][a-z_]+=/.test(way));
  return ways.length ? ` ${upper(ways.join(", or "))}.` : "";
}

const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Pieces of whole lines, each below a line of names, oldest first; and how many lines were left out because they say
// again, with their time, what another has said. Those of one piece the service would drop, but not those of two.
function cut(bytes, about) {
  const text = new TextDecoder(about.encoding).decode(bytes), lines = text.replace(/\r\n?/g, "\n").split("\n");
  const names = about.names.map((name) => `"${name.replaceAll('"', '""')}"`).join(about.sep);
  const most = Math.max(1, Math.floor(MOST / Math.max(1, about.values.length))), pieces = [];
  const seen = new Set();
  let piece = [], size = 0, doubled = 0;
  for (const row of lines.slice(about.skip)) {
    if (!row.trim()) continue;
    if (about.time) {
      if (seen.has(row)) { doubled += 1; continue; }
      seen.add(row);
    }
    if (piece.length >= most || size + row.length > PIECE) { pieces.push(piece); piece = []; size = 0; }
    piece.push(row);
    size += row.length + 1;
  }
  if (piece.length || !pieces.length) pieces.push(piece);
  if (about.newest_first) pieces.reverse();
  return [pieces.map((part) => [names, ...part].join("\n") + "\n"), doubled];
}

function say(text, bad = false) {
  const line = get("dropped");
  line.textContent = text;
  line.classList.toggle("bad", bad);
  line.scrollIntoView({ block: "nearest" }); // on a phone it lies below the list
}
