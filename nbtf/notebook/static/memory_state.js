// The step and the chunk that the reader has selected in a scene's memory, common to all of its views.

import { chunksAt, historyOf } from "./plane_axis.js";

const WHOLE_VIEW = { from: 0, to: 1, low: 0, high: 1 };
const LEAST_STEPS = 8; // in sight at the strongest zoom
const LEAST_ADDRESSES = 1e-5; // share of the addresses

// Creates this state: `shared` is the common state of the views, `devices` the scene's memory.
export function memoryState(shared, devices) {
  shared.memory ??= new MemoryState(devices);
  return shared.memory;
}

class MemoryState {
  constructor(devices) {
    this.histories = devices.map(historyOf);
    this.take(this.histories[0]);
  }

  // Selects a device, at its last failed request if there was one; otherwise at its end, or a snapshot's peak.
  take(history) {
    this.history = history;
    this.step = history.refusals.at(-1)?.step ?? (history.measured ? history.peak : history.steps - 1);
    this.chosen = null;
    this.opened = false;
    this.view = null;
    this.spanStarts = history.spans.map(([first]) => first);
    this.turns = [...new Set([...history.refusals.map(({ step }) => step), history.peak])].sort((a, b) => a - b);
  }

  go(step) {
    this.step = Math.max(0, Math.min(step, this.history.steps - 1));
    const { piece } = this.chosen ?? {};
    if (piece && this.history.columns) return void (piece.birth <= this.step && this.step < piece.death ? null : ((this.chosen = null), (this.opened = false)));
    this.chosen = piece ? (this.chunks().find((chunk) => chunk.piece === piece) ?? null) : null;
    this.opened &&= this.chosen !== null;
  }

  // Shows a part of the steps and addresses: zooms by a factor about a point, in shares of what is in sight.
  zoom(factor, across = 0.5, up = 0.5) {
    const { from, to, low, high } = this.view ?? WHOLE_VIEW;
    const least = Math.min(LEAST_STEPS / this.history.steps, 1);
    const [first, last] = zoomedSpan(from, to, factor, across, least);
    const [lowest, highest] = zoomedSpan(low, high, factor, up, LEAST_ADDRESSES);
    const isWhole = last - first >= 1 && highest - lowest >= 1;
    this.view = isWhole ? null : { from: first, to: last, low: lowest, high: highest };
  }

  // Moves what is in sight by shares of it.
  pan(across, up) {
    if (!this.view) return;
    const { from, to, low, high } = this.view;
    const [first, last] = shiftedSpan(from, to, across * (to - from));
    const [lowest, highest] = shiftedSpan(low, high, up * (high - low));
    this.view = { from: first, to: last, low: lowest, high: highest };
  }

  // Moves what is in sight so that a share of the axis is in its middle.
  centre(share) {
    const { from, to } = this.view;
    this.pan((share - (from + to) / 2) / (to - from), 0);
  }

  // The nearest of some steps in a direction.
  jump(steps, way) {
    const ahead = steps.filter((step) => (step - this.step) * way > 0);
    if (ahead.length) this.go(way > 0 ? ahead[0] : ahead.at(-1));
  }

  chunks() {
    return [...chunksAt(this.history, this.step)].sort((a, b) => a.start - b.start);
  }

  chooseBeside(way) {
    const chunks = this.chunks();
    const at = this.chosen ? chunks.findIndex(({ start }) => start === this.chosen.start) : way > 0 ? -1 : chunks.length;
    this.choose(chunks[Math.max(0, Math.min(at + way, chunks.length - 1))] ?? null);
  }

  chooseAt(address) {
    this.choose(this.chunks().find(({ start, size }) => start <= address && address < start + size) ?? null, true);
  }

  choose(chunk, opened = false) {
    this.chosen = chunk;
    this.opened = opened && chunk !== null;
  }

  // Shows all details of the selected chunk, or of the lowest if none is selected.
  open() {
    if (!this.chosen) this.chooseBeside(1);
    this.opened = this.chosen !== null;
  }
}

function zoomedSpan(from, to, factor, at, least) {
  const length = Math.min(Math.max((to - from) * factor, least), 1);
  const point = from + (to - from) * at;
  return shiftedSpan(point - length * at, point + length * (1 - at), 0);
}

// A span moved as far as possible within 0 and 1.
function shiftedSpan(from, to, by) {
  const shift = Math.min(Math.max(by, -from), 1 - to);
  return [from + shift, to + shift];
}
