// A CSV dropped on the page becomes series: one for every column of numbers, or for every key.

import { request } from "./api.js";
import { whole } from "./format.js";

const PIECE = 4_000_000; // characters of one request; the service takes 8 MB
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
    const pieces = cut(await file.text());
    const name = file.name.replace(/\.\w+$/, "").replace(/[^\p{L}\p{N} _.\-]/gu, "_").trim().slice(0, 60) || "file";
    const columns = {};
    let late = 0;
    for (const [at, piece] of pieces.entries()) {
      const answer = await send(piece, name);
      for (const [column, values] of Object.entries(answer.columns)) (columns[column] ??= []).push(...values);
      late += answer.late;
      if (pieces.length > 1) say(`${file.name}: ${at + 1} of ${pieces.length} parts`);
    }
    const keys = [...new Set(columns.key)];
    const put = late ? `; ${whole(late)} were late and passed over` : "";
    say(`${file.name}: ${whole(columns.key.length)} values of ${whole(keys.length)} series${put}.`);
    done(keys, columns);
  } catch (error) {
    say(`${file.name}: ${error.message}. ${error.way_out ?? ""}`, true);
  }
}

function send(body, name) {
  const query = new URLSearchParams({ name, answers: "columns" });
  return request(`/v1/observe?${query}`, { method: "POST", headers: { "Content-Type": "text/csv" }, body });
}

// Pieces of whole lines, each with the line of names. 10 000 rows keep wide tables within a batch.
function cut(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n").filter((line) => line.trim());
  const [names, ...rows] = lines, pieces = [];
  const wide = Math.max(1, (names ?? "").split(/[,;\t]/).length - 1);
  const most = Math.max(1, Math.floor(40_000 / wide));
  let piece = [], size = 0;
  for (const row of rows) {
    if (piece.length >= most || size + row.length > PIECE) { pieces.push(piece); piece = []; size = 0; }
    piece.push(row);
    size += row.length + 1;
  }
  if (piece.length || !pieces.length) pieces.push(piece);
  return pieces.map((part) => [names ?? "", ...part].join("\n") + "\n");
}

function say(text, bad = false) {
  const line = get("dropped");
  line.textContent = text;
  line.classList.toggle("bad", bad);
}
