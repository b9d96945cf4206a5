// The memory of a device at each step, and the horizontal axis of the steps. Counterpart of stills/memory_history.py and
// stills/memory_axis.py: everything is derived from the pieces and regions that Python lists.

import { line, rectangle, text, fitted, widthOf } from "./picture.js";
import { WORDS } from "./words.js";

const REFUSAL_WIDTH = 112;
const PHASE_FILLS = { forward: "fwd", backward: "bwd", update: "upd", input: "py" };
const PIECE = ["start", "size", "requested", "group", "birth", "death", "title", "shape", "line", "fate", "seq"];
const EXTENT = ["region", "start", "size", "birth", "death"];
const KEYFRAME = 4096; // steps between two complete lists of pieces

// Converts the data of stills/memory_data.py to objects, with the memory in use after each step, and all pieces of some steps.
export function historyOf(data) {
  const rows = (names, list) => list.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
  const pieces = rows(PIECE, data.pieces);
  for (const piece of pieces) for (const name of ["group", "title", "shape", "line", "fate"]) piece[name] = data.texts[piece[name]];
  const inUse = new Array(data.steps + 1).fill(0);
  for (const { size, birth, death } of pieces) ((inUse[birth] += size), (inUse[death] -= size));
  for (let step = 1; step <= data.steps; step++) inUse[step] += inUse[step - 1];
  const peak = inUse.slice(0, data.steps).reduce((best, used, step) => (used > inUse[best] ? step : best), 0);
  return { ...data, pieces, extents: rows(EXTENT, data.extents), inUse, peak, ...keyframesOf(pieces, data.steps), moment: null };
}

// The pieces that come and go at each step, and the complete list every `KEYFRAME` steps.
function keyframesOf(pieces, steps) {
  const changes = Array.from({ length: steps + 1 }, () => []);
  for (const piece of pieces) (changes[piece.birth].push(piece), changes[piece.death].push(piece));
  const keyframes = [];
  const alive = new Set();
  for (let step = 0; step < steps; step++) {
    if (step % KEYFRAME === 0) keyframes.push([...alive]);
    change(alive, changes[step], step);
  }
  return { changes, keyframes };
}

function change(alive, pieces, step) {
  for (const piece of pieces) {
    if (piece.birth <= step && step < piece.death) alive.add(piece);
    else alive.delete(piece);
  }
}

// The pieces and chunks of a step, cached until another step is requested.
function momentAt(history, step) {
  if (history.moment?.step === step) return history.moment;
  const number = Math.floor(step / KEYFRAME);
  const alive = new Set(history.keyframes[number]);
  for (let at = number * KEYFRAME; at <= step; at++) change(alive, history.changes[at], at);
  const pieces = [...alive].sort((a, b) => a.start - b.start);
  history.moment = { step, pieces, chunks: chunksOf(history, step, pieces) };
  return history.moment;
}

// The pieces in use after a step, by address.
export function piecesAt(history, step) {
  return momentAt(history, step).pieces;
}

// The allocator's chunks of a step, by region and address: pieces, and the holes between them.
export function chunksAt(history, step) {
  return momentAt(history, step).chunks;
}

function chunksOf(history, step, pieces) {
  const chunks = [];
  const regions = history.extents.filter(({ birth, death }) => birth <= step && step < death);
  for (const { region, start, size } of regions.sort((a, b) => a.region - b.region)) {
    let end = start;
    const hole = (until) => until > end && chunks.push({ region, offset: end - start, start: end, size: until - end, piece: null });
    let at = pieces.findIndex((piece) => piece.start >= start);
    for (; at >= 0 && at < pieces.length && pieces[at].start < start + size; at++) {
      const piece = pieces[at];
      hole(piece.start);
      chunks.push({ region, offset: piece.start - start, start: piece.start, size: piece.size, piece });
      end = piece.start + piece.size;
    }
    hole(start + size);
  }
  return chunks;
}

// Columns of equal width, wider only for failed requests: one for each step that changes a piece of some minimum size.
export class StepColumns {
  constructor(history, left, right, least, shown = []) {
    const { steps, refusals, pieces } = history;
    const refused = new Set(refusals.map(({ step }) => step));
    const begins = new Set([0, ...refused, ...[...refused].map((step) => step + 1), ...shown]);
    for (const { size, birth, death } of pieces) if (size >= least) (begins.add(birth), begins.add(death));
    const firsts = [...begins].filter((step) => step < steps).sort((a, b) => a - b);
    const share = Math.min((REFUSAL_WIDTH * refused.size) / (right - left), 0.5);
    const ordinary = Math.max(firsts.length - refused.size, 1);
    const weights = firsts.map((step) => (refused.has(step) ? share / refused.size : (1 - share) / ordinary));
    const scale = (right - left) / weights.reduce((sum, weight) => sum + weight, 0);
    this.right = right;
    this.steps = steps;
    this.firsts = firsts;
    this.edges = [left];
    for (const weight of weights) this.edges.push(this.edges.at(-1) + weight * scale);
  }

  // The left edge of a step's column in px; for the number of steps, the end of the axis.
  x(step) {
    return step >= this.steps ? this.right : this.edges[this.columnOf(step)];
  }

  middle(step) {
    const at = this.columnOf(step);
    const [first, last] = [this.firsts[at], this.firsts[at + 1] ?? this.steps];
    return this.edges[at] + ((this.edges[at + 1] - this.edges[at]) * (step - first + 0.5)) / (last - first);
  }

  // The step at some px.
  stepAt(x) {
    const at = Math.max(this.edges.findLastIndex((edge) => edge <= x), 0);
    if (at >= this.firsts.length) return this.steps - 1;
    const [first, last] = [this.firsts[at], this.firsts[at + 1] ?? this.steps];
    const part = Math.max(x - this.edges[at], 0) / (this.edges[at + 1] - this.edges[at]);
    return Math.min(first + Math.floor(part * (last - first)), last - 1);
  }

  columnOf(step) {
    let [low, high] = [0, this.firsts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.firsts[middle] <= step) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  columns() {
    return this.firsts.map((first, at) => [first, this.firsts[at + 1] ?? this.steps, this.edges[at], this.edges[at + 1]]);
  }

  // The labels below the axis: phases, or lines of the program.
  spans(spans, y) {
    const merged = [];
    for (const [first, end, phase, place] of spans) {
      const before = merged.at(-1);
      if (before && (this.x(end) - this.x(first) < 1 || (before.phase === phase && before.place === place))) before.end = end;
      else merged.push({ first, end, phase, place });
    }
    return merged.flatMap((span) => this.span(span, y));
  }

  span({ first, end: last, phase, place }, y) {
    const [begin, end] = [this.x(first), this.x(last)];
    if (phase) {
      const words = WORDS.timeline[phase];
      const bar = rectangle(begin + 0.5, y + 3, end - begin - 1, 4, PHASE_FILLS[phase] ?? "tmp", { radius: 2 });
      const fits = widthOf(words, 11) <= end - begin - 4;
      return fits ? [bar, text((begin + end) / 2, y + 20, words, { fill: "soft", size: 11, anchor: "middle" })] : [bar];
    }
    if (!place) return [];
    const words = fitted(place, end - begin - 8, 11);
    const tick = line(begin, y, begin, y + 8, { stroke: "line" });
    return words ? [tick, text(begin + 4, y + 20, words, { fill: "soft", size: 11 })] : [tick];
  }
}
