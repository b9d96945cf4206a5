// The horizontal axis of the steps of a device's memory.

import { FILLS } from "./measures.js";
import { allPieces } from "./memory_pieces.js";
import { line, rectangle, text, fitted, widthOf } from "./picture.js";
import { PLANE } from "./plane_sizes.js";
import { WORDS } from "./words.js";

const MOST_AXES = 4;

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
    const share = Math.min((PLANE.refusal * refused.size) / (right - left), 0.5);
    const ordinary = Math.max(firsts.length - refused.size, 1);
    const weights = firsts.map((step) => (refused.has(step) ? share / refused.size : (1 - share) / ordinary));
    const scale = (right - left) / weights.reduce((sum, weight) => sum + weight, 0);
    Object.assign(this, { left, right, steps, firsts, begin: left, factor: 1 });
    this.edges = new Float64Array(weights.length + 1).fill(left);
    for (let at = 0; at < weights.length; at++) this.edges[at + 1] = this.edges[at] + weights[at] * scale;
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

  // A function for the px of a step from the left end of the axis, of a history with a column for each step; it may be out of sight.
  edgesOf() {
    const { edges, begin, factor } = this;
    return (step) => (edges[step] - begin) * factor;
  }

  // The left edge of a step as a share of the whole axis; for the number of steps, 1.
  edgeShare(step) {
    const edge = step >= this.steps ? this.edges.at(-1) : this.edges[this.columnOf(step)];
    return (edge - this.left) / (this.right - this.left);
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
      const bar = rectangle(begin + 0.5, y + 3, end - begin - 1, 4, FILLS.ofPhase[phase] ?? "tmp", { radius: 2 });
      const fits = widthOf(words, 11) <= end - begin - 4;
      return fits ? [bar, text((begin + end) / 2, y + 20, words, { fill: "soft", size: 11, anchor: "middle", fixed: true })] : [bar];
    }
    if (!place) return [];
    const words = fitted(place, end - begin - 8, 11);
    const tick = line(begin, y, begin, y + 8, { stroke: "line" });
    return words ? [tick, text(begin + 4, y + 20, words, { fill: "soft", size: 11, fixed: true })] : [tick];
  }
}

// The steps with which columns begin: for each step that changes a piece of a minimum size, and some others.
function firstsOf(history, least, others) {
  const { steps, everyStep } = history;
  if (everyStep) return Array.from({ length: steps }, (_, step) => step);
  const begins = new Set([0, ...others]);
  for (const { size, birth, death } of allPieces(history)) if (size >= least) (begins.add(birth), begins.add(death));
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
