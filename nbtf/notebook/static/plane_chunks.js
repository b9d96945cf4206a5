// Draws a device's memory after a step: its chunks by address.

import { chunksAt, momentOf } from "./memory_pieces.js";
import { beginOfText, fitted, rectangle, text } from "./picture.js";
import { PLANE } from "./plane_sizes.js";
import { sizeInWords } from "./sizes.js";
import { WORDS, fill, grouped } from "./words.js";

const MOST_KEPT = 20000;
const PATH = /[/.](?=[\p{L}_])| · /gu; // separators of a path such as `model.layers[0].kernel`
export const SMALL = { fill: "soft", size: 11 };

// Every chunk of a step in sight, with the names that fit.
export function crossSection(layout, step) {
  const chunks = chunksWithNames(layout, step);
  const used = chunks.filter((chunk) => chunk.piece).sort((a, b) => a.start - b.start);
  const isInSight = ({ start, size }) => !layout.view || layout.y(start) > layout.y(start + size);
  const drawn = [...chunks.filter((chunk) => !chunk.piece), ...used].filter(isInSight).map((chunk) => drawnChunk(layout, chunk));
  const edge = rectangle(layout.side, layout.top, PLANE.bar, layout.bottom - layout.top, "", { stroke: "line" });
  const marks = layout.raster ? [] : drawn.flatMap((each) => each.marks);
  if (layout.isNarrow) return [...marks, edge]; // the bands have the names
  return [...marks, edge, ...chunkNames(drawn.map(({ label }) => label), layout.side + PLANE.bar + 7, layout.end)];
}

// The layout of chunks alone, between two px: `nbytes` fill the height.
export function chunkLayout(history, nbytes, bottom, height, end) {
  const least = nbytes / height;
  const y = (address) => bottom - address / least;
  return { history, side: PLANE.left, end, top: bottom - height, bottom, low: 0, least, y, chunks: new Map() };
}

// The labels of a scale of addresses.
export function addressLabels(low, nbytes, y) {
  const quarters = [0, 1, 2, 3, 4].map((quarter) => Math.floor(low + (nbytes * quarter) / 4));
  return quarters.map((each) => text(PLANE.left - 8, y(each) + 4, each ? sizeInWords(each) : "0 B", { ...SMALL, anchor: "end" }));
}

// All chunks, or those in sight whose names may be readable.
function chunksWithNames({ history, low, least }, step) {
  if (!history.isPainted) return chunksAt(history, step);
  return chunksAt(history, step, 4 * least, low, low + least * PLANE.height);
}

// The chunks of a step as numbers, which plane_raster.js paints.
export function rasterOfChunks({ history, side, top, bottom, low, least }, step) {
  const { columns: { start, size }, groups, groupOf } = history;
  const { alive, holes } = momentOf(history, step);
  const [height, scale] = [bottom - top, 1 / least];
  const y = (address) => Math.min(Math.max(height - (address - low) * scale, 0), height);
  const [used, free] = [new Float32Array(alive.length * 4), new Float32Array(holes.length * 4)];
  const layers = new Uint8Array(alive.length);
  const place = (sides, at, from, bytes) => {
    sides[at * 4 + 1] = PLANE.bar;
    sides[at * 4 + 2] = y(from + bytes);
    sides[at * 4 + 3] = y(from);
  };
  for (let at = 0; at < alive.length; at++) {
    place(used, at, start[alive[at]], size[alive[at]]);
    layers[at] = groupOf[alive[at]];
  }
  for (let at = 0; at < holes.length; at++) place(free, at, holes[at][1], holes[at][2]);
  return { x: side, y: top, width: PLANE.bar, height, free, used, layers, fills: groups.map((group) => group.fill) };
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
  const token = piece.group.fill;
  const title = `${aboutPiece(piece)}: ${grouped(piece.size)} B`;
  const marks = [rectangle(layout.side, top, PLANE.bar, low - top, "paper", { title, data: dataOf(chunk) })];
  if (isPale(layout, piece) && middle > top) marks.push(rectangle(layout.side, top, PLANE.bar, middle - top, token, { opacity: PLANE.pale }));
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
  const { free, largest } = momentOf(history, step);
  return free ? fill(WORDS.memoryPicture.holes, { size: sizeInWords(free), largest: sizeInWords(largest) }) : WORDS.memoryPicture.full;
}

// The px of a piece's end, of the end of its requested bytes, and of its start.
export function bandSides({ y }, { start, size, requested }) {
  return [y(start + size), y(start + Math.min(requested, size)), y(start)];
}

// Whether the bytes beyond a piece's request are visible.
export function isPale({ least }, { size, requested }) {
  return size - requested >= least;
}

export function aboutPiece({ title, line, shape, group, stack }) {
  const name = title || line;
  if (stack !== undefined && group.name === name) return name; // a snapshot's pieces are grouped by their line
  return `${[name, shape].filter(Boolean).join(" ")} (${group.name})`;
}

// A name, or as much of it as fits. Paths lose their beginning, which many names share.
export function shortened(name, width) {
  const fit = (words) => fitted(words, width, 11, 600, true);
  const isPath = /[/.]/.test(name) && !name.includes(":");
  const ends = isPath ? [...name.matchAll(PATH)].map((match) => match.index + match[0].length) : [];
  const parts = [name, ...ends.map((end) => `…${name.slice(end)}`), name.split(" · ")[0]];
  return parts.find((part) => fit(part) === part) || fit(name);
}
