// The memory of a device at each step, and the horizontal axis of the steps. Counterpart of stills/memory_history.py and
// stills/memory_axis.py: everything is derived from the pieces and regions that Python lists.

import { recordedGroups } from "./piece_groups.js";
import { line, rectangle, text, fitted, widthOf } from "./picture.js";
import { momentOf, pieceObject, snapshotChunks, snapshotHistory } from "./snapshot_history.js";
import { WORDS } from "./words.js";

const REFUSAL_WIDTH = 112;
const PHASE_FILLS = { forward: "fwd", backward: "bwd", update: "upd", input: "py" };
const PIECE = ["start", "size", "requested", "group", "birth", "death", "title", "shape", "line", "fate", "seq"];
const EXTENT = ["region", "start", "size", "birth", "death"];
const MOST_AXES = 4;
const KEYFRAME = 4096; // steps between two complete lists of pieces

// Converts the data of stills/memory_data.py, or of snapshots/memory.py, to objects, with the memory in use after each step, and
// all pieces of some steps.
export function historyOf(data) {
  if (data.groupings) return snapshotHistory(data);
  const pieces = piecesOfRows(data);
  const groups = groupsOfRows(pieces);
  const inUse = new Float64Array(data.steps + 1);
  for (const { size, birth, death } of pieces) ((inUse[birth] += size), (inUse[death] -= size));
  for (let step = 1; step <= data.steps; step++) inUse[step] += inUse[step - 1];
  let peak = 0;
  for (let step = 1; step < data.steps; step++) if (inUse[step] > inUse[peak]) peak = step;
  const extents = objectsOf(EXTENT, data.extents);
  return { ...data, pieces, groups: Object.values(groups), extents, inUse, peak, ...keyframesOf(pieces, data.steps), moment: null };
}

function objectsOf(names, rows) {
  return rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
}

function piecesOfRows({ pieces: rows, texts }) {
  const pieces = objectsOf(PIECE, rows);
  for (const piece of pieces) for (const name of ["group", "title", "shape", "line", "fate"]) piece[name] = texts[piece[name]];
  return pieces;
}

// Replaces the keys of groups by the groups; returns these.
function groupsOfRows(pieces) {
  const groups = recordedGroups();
  for (const piece of pieces) piece.group = groups[piece.group];
  return groups;
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
  if (history.columns) return Array.from(momentOf(history, step).alive, (at) => pieceObject(history, at));
  return momentAt(history, step).pieces;
}

export function pieceCount(history, step) {
  return history.columns ? momentOf(history, step).alive.length : momentAt(history, step).pieces.length;
}

// The allocator's chunks of a step, by region and address: pieces, and the holes between them.
export function chunksAt(history, step) {
  return history.columns ? snapshotChunks(history, step) : momentAt(history, step).chunks;
}

// How much of the device's pool is free, and its largest hole.
export function freeAt(history, step) {
  if (history.columns) return momentOf(history, step);
  const sizes = momentAt(history, step).chunks.filter((chunk) => !chunk.piece).map((chunk) => chunk.size);
  return { free: sizes.reduce((sum, size) => sum + size, 0), largest: Math.max(0, ...sizes) };
}

function chunksOf(history, step, pieces) {
  const chunks = [];
  const regions = history.extents.filter(({ birth, death }) => birth <= step && step < death);
  for (const { region, start, size } of regions.sort((a, b) => a.region - b.region)) {
    let end = start;
    const hole = (until) => until > end && chunks.push({ region, offset: end - start, start: end, size: until - end, piece: null });
    for (let at = firstFrom(pieces, start); at < pieces.length && pieces[at].start < start + size; at++) {
      const piece = pieces[at];
      hole(piece.start);
      chunks.push({ region, offset: piece.start - start, start: piece.start, size: piece.size, piece });
      end = piece.start + piece.size;
    }
    hole(start + size);
  }
  return chunks;
}

// The position of the first piece at an address or above it.
function firstFrom(pieces, address) {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pieces[middle].start < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The axis of a whole history at some width, kept for the next picture.
export function wholeAxis(history, left, right, least, shown = []) {
  history.axes ??= new Map();
  const key = `${right} ${least} ${shown}`;
  if (!history.axes.has(key)) {
    if (history.axes.size > MOST_AXES) history.axes.clear();
    history.axes.set(key, new StepColumns(history, left, right, least, shown));
  }
  return history.axes.get(key);
}

// Columns of equal width, wider only for failed requests: one for each step that changes a piece of some minimum size.
class StepColumns {
  constructor(history, left, right, least, shown = []) {
    const { steps, refusals } = history;
    const refused = new Set(refusals.map(({ step }) => step));
    const firsts = firstsOf(history, least, [...refused, ...[...refused].map((step) => step + 1), ...shown]);
    const share = Math.min((REFUSAL_WIDTH * refused.size) / (right - left), 0.5);
    const ordinary = Math.max(firsts.length - refused.size, 1);
    const weights = firsts.map((step) => (refused.has(step) ? share / refused.size : (1 - share) / ordinary));
    const scale = (right - left) / weights.reduce((sum, weight) => sum + weight, 0);
    Object.assign(this, { left, right, steps, firsts, begin: left, factor: 1 });
    this.edges = [left];
    for (const weight of weights) this.edges.push(this.edges.at(-1) + weight * scale);
  }

  // The same axis with only a part of it in sight, between two shares of its width.
  zoomed(from, to) {
    const factor = 1 / (to - from);
    return Object.assign(Object.create(StepColumns.prototype), this, { factor, begin: this.left + from * (this.right - this.left) });
  }

  // The px of an edge; edges out of sight are at the nearest end.
  px(edge) {
    if (this.factor === 1) return edge;
    return Math.min(Math.max(this.left + (edge - this.begin) * this.factor, this.left), this.right);
  }

  // The px of a step from the left end of the axis, of a history with a column for each step; it may be out of sight.
  edgeOf(step) {
    return (this.edges[step] - this.begin) * this.factor;
  }

  // The position of a step as a share of the whole axis.
  shareOf(step) {
    const at = this.columnOf(step);
    return ((this.edges[at] + this.edges[at + 1]) / 2 - this.left) / (this.right - this.left);
  }

  // Whether a step is in sight.
  shows(step) {
    const at = this.columnOf(step);
    return this.px(this.edges[at + 1]) > this.px(this.edges[at]);
  }

  // The left edge of a step's column in px; for the number of steps, the end of the axis.
  x(step) {
    return this.px(step >= this.steps ? this.edges.at(-1) : this.edges[this.columnOf(step)]);
  }

  middle(step) {
    const at = this.columnOf(step);
    const [first, last] = [this.firsts[at], this.firsts[at + 1] ?? this.steps];
    return this.px(this.edges[at] + ((this.edges[at + 1] - this.edges[at]) * (step - first + 0.5)) / (last - first));
  }

  // The step at some px.
  stepAt(x) {
    const edge = this.begin + (x - this.left) / this.factor;
    const at = Math.max(upTo(this.edges, edge), 0);
    if (at >= this.firsts.length) return this.steps - 1;
    const [first, last] = [this.firsts[at], this.firsts[at + 1] ?? this.steps];
    const part = Math.max(edge - this.edges[at], 0) / (this.edges[at + 1] - this.edges[at]);
    return Math.min(first + Math.floor(part * (last - first)), last - 1);
  }

  columnOf(step) {
    return upTo(this.firsts, step);
  }

  // The columns in sight: first step, last step, left and right edge in px; those narrower than `least` px are combined.
  columns(least = 0) {
    const columns = [];
    const last = this.begin + (this.right - this.left) / this.factor;
    for (let at = Math.max(upTo(this.edges, this.begin), 0); at < this.firsts.length && this.edges[at] < last; at++) {
      const [end, right] = [this.firsts[at + 1] ?? this.steps, this.px(this.edges[at + 1])];
      const before = columns.at(-1);
      if (before && before[3] - before[2] < least) ((before[1] = end), (before[3] = right));
      else columns.push([this.firsts[at], end, this.px(this.edges[at]), right]);
    }
    return columns;
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

// The steps with which columns begin: for each step that changes a piece of a minimum size, and some others.
function firstsOf({ steps, pieces, everyStep }, least, others) {
  if (everyStep) return Array.from({ length: steps }, (_, step) => step);
  const begins = new Set([0, ...others]);
  for (const { size, birth, death } of pieces) if (size >= least) (begins.add(birth), begins.add(death));
  return [...begins].filter((step) => step < steps).sort((a, b) => a - b);
}

// The position of the last of some ascending numbers up to a limit; -1 if there is none.
function upTo(numbers, limit) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
