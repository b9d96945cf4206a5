// The step and the chunk that the reader has selected in a scene's memory, common to all of its views.

import { chunksAt } from "./memory_pieces.js";
import { historyOf } from "./recorded_history.js";

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
    this.range = null;
    this.spanStarts = history.spans.map(([first]) => first);
    this.turns = [...new Set([...history.refusals.map(({ step }) => step), history.peak])].sort((a, b) => a - b);
  }

  go(step) {
    this.step = Math.max(0, Math.min(step, this.history.steps - 1));
    const { piece } = this.chosen ?? {};
    if (piece && piece.birth <= this.step && this.step < piece.death) return;
    this.choose(null);
  }

  // Shows a part of the steps and addresses: zooms by a factor about a point, in shares of what is in sight; `up` is null to keep
  // the addresses.
  zoom(factor, across = 0.5, up = null) {
    const { from, to, low, high } = this.view ?? WHOLE_VIEW;
    const [first, last] = zoomedSpan(from, to, factor, across, this.leastSteps());
    const [lowest, highest] = up === null ? [low, high] : zoomedSpan(low, high, factor, up, LEAST_ADDRESSES);
    this.see(first, last, lowest, highest);
  }

  leastSteps() {
    return Math.min(LEAST_STEPS / this.history.steps, 1);
  }

  see(from, to, low, high) {
    const isWhole = to - from >= 1 && high - low >= 1;
    this.view = isWhole ? null : { from, to, low, high };
  }

  // Shows a part of the axis, in shares, and addresses, in shares of all; widens what is too small to see.
  show(from, to, low, high) {
    const [length, height] = [Math.max(to - from, this.leastSteps()), Math.max(high - low, LEAST_ADDRESSES)];
    const middles = [(from + to - length) / 2, (low + high - height) / 2];
    this.see(...shiftedSpan(middles[0], middles[0] + length, 0), ...shiftedSpan(middles[1], middles[1] + height, 0));
  }

  // How many steps an arrow key moves the end of a range: a tenth of what is in sight.
  stride() {
    const { from, to } = this.view ?? WHOLE_VIEW;
    return Math.max(Math.round(((to - from) * this.history.steps) / 10), 1);
  }

  // Selects a range of steps, whose ends may be in any order; null clears it.
  select(range) {
    const inside = (step) => Math.max(0, Math.min(step, this.history.steps - 1));
    this.range = range && { from: inside(Math.min(range.from, range.to)), to: inside(Math.max(range.from, range.to)) };
  }

  // Moves what is in sight by shares of it.
  pan(across, up) {
    if (!this.view) return;
    const { from, to, low, high } = this.view;
    const [first, last] = shiftedSpan(from, to, across * (to - from));
    const [lowest, highest] = shiftedSpan(low, high, up * (high - low));
    this.view = { from: first, to: last, low: lowest, high: highest };
  }

  // Moves what is in sight so that a share of the axis is in its middle; likewise a share of the addresses.
  centre(share) {
    const { from, to } = this.view;
    this.pan((share - (from + to) / 2) / (to - from), 0);
  }

  centreAddress(share) {
    const { low, high } = this.view;
    this.pan(0, (share - (low + high) / 2) / (high - low));
  }

  // The nearest of some steps in a direction.
  jump(steps, way) {
    const ahead = steps.filter((step) => (step - this.step) * way > 0);
    if (ahead.length) this.go(way > 0 ? ahead[0] : ahead.at(-1));
  }

  chunks() {
    return chunksAt(this.history, this.step);
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
