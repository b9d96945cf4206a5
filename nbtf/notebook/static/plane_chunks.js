// Draws a device's memory after a step: its chunks by address. Counterpart of stills/memory_chunks.py.

import { beginOfText, fitted, rectangle, text } from "./picture.js";
import { chunksAt } from "./plane_axis.js";
import { sizeInWords } from "./sizes.js";
import { WORDS, fill, grouped } from "./words.js";

export const PLANE = { least: 560, height: 330, curve: 40, side: 176, bar: 46, left: 66, margin: 16, widest: "1021.5 MiB" };
export const GROUP_FILLS = { weights: "wgt", "optimizer slots": "upd", "Python names": "py", activations: "fwd", gradients: "bwd", temporary: "tmp" };
const MOST_KEPT = 20000;
export const SMALL = { fill: "soft", size: 11 };

// Every chunk of a step, with the names that fit.
export function crossSection(layout, step) {
  const chunks = chunksAt(layout.history, step);
  const used = chunks.filter((chunk) => chunk.piece).sort((a, b) => a.start - b.start);
  const drawn = [...chunks.filter((chunk) => !chunk.piece), ...used].map((chunk) => drawnChunk(layout, chunk));
  const edge = rectangle(layout.side, layout.top, PLANE.bar, PLANE.height, "", { stroke: "line" });
  return [...drawn.flatMap(({ marks }) => marks), edge, ...chunkNames(drawn.map(({ label }) => label), layout.side + PLANE.bar + 7, layout.end)];
}

// The marks of a chunk, unchanged as long as it exists, and its label.
function drawnChunk(layout, chunk) {
  const key = `${chunk.start} ${chunk.size} ${chunk.piece?.birth ?? ""}`;
  if (layout.chunks.size > MOST_KEPT) layout.chunks.clear();
  if (!layout.chunks.has(key)) layout.chunks.set(key, chunk.piece ? drawnPiece(layout, chunk) : drawnHole(layout, chunk));
  return layout.chunks.get(key);
}

function drawnHole({ side, top: highest, y }, chunk) {
  const [top, low] = [Math.max(y(chunk.start + chunk.size), highest), y(chunk.start)];
  const title = `${WORDS.memoryPicture.free}: ${grouped(chunk.size)} B`;
  const marks = [rectangle(side, top, PLANE.bar, low - top, "hatch", { opacity: 0.45, title, data: dataOf(chunk) })];
  return { marks, label: [(top + low) / 2, low - top, WORDS.memoryPicture.free, sizeInWords(chunk.size), "soft"] };
}

function drawnPiece(layout, chunk) {
  const { piece } = chunk;
  const [top, middle, low] = bandSides(layout, piece);
  const token = GROUP_FILLS[piece.group];
  const title = `${aboutPiece(piece)}: ${grouped(piece.size)} B`;
  const marks = [rectangle(layout.side, top, PLANE.bar, low - top, "paper", { title, data: dataOf(chunk) })];
  if (middle - top >= 1) marks.push(rectangle(layout.side, top, PLANE.bar, middle - top, token, { opacity: 0.35 }));
  const gap = low - middle > 2 ? 0.4 : 0;
  marks.push(rectangle(layout.side, middle + gap, PLANE.bar, low - middle - 2 * gap, token));
  return { marks, label: [(middle + low) / 2, low - middle, piece.title, sizeInWords(piece.requested), "ink"] };
}

function dataOf({ region, offset, size, piece }) {
  return { region, offset, size, used: piece !== null };
}

// Names and sizes; of two that are too close, only those of the larger.
function chunkNames(labels, left, right) {
  const taken = [];
  const marks = [];
  for (const [y, height, name, size, token] of labels.sort((a, b) => b[1] - a[1])) {
    if (height < 4 || taken.some((other) => Math.abs(y - other) < 13)) continue;
    taken.push(y);
    const figure = text(right, y + 4, size, { ...SMALL, anchor: "end" });
    const shown = shortened(name, beginOfText(figure) - 8 - left);
    marks.push(figure);
    if (shown) marks.push(text(left, y + 4, shown, { fill: token, size: 11, weight: token === "soft" ? 400 : 500, mono: true }));
  }
  return marks;
}

// "free 16 MiB, largest 4 MiB".
export function freeInWords(history, step) {
  const sizes = chunksAt(history, step).filter((chunk) => !chunk.piece).map((chunk) => chunk.size);
  if (!sizes.length) return WORDS.memoryPicture.full;
  const free = sizes.reduce((sum, size) => sum + size, 0);
  return fill(WORDS.memoryPicture.holes, { size: sizeInWords(free), largest: sizeInWords(Math.max(...sizes)) });
}

// The px of a piece's end, of the end of its requested bytes, and of its start.
export function bandSides({ y }, { start, size, requested }) {
  return [y(start + size), y(start + Math.min(requested, size)), y(start)];
}

export function aboutPiece({ title, shape, group }) {
  return `${[title, shape].filter(Boolean).join(" ")} (${WORDS.memoryPicture[group]})`;
}

// A name, or as much of it as fits, with an ellipsis after at least four letters.
export function shortened(name, width) {
  const fit = (words) => fitted(words, width, 11, 600, true);
  const first = name.split(" · ")[0];
  return fit(name) === name ? name : fit(first) === first ? first : fit(name);
}
