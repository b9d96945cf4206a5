// The step and the chunk that the reader has selected in a scene's memory, common to all of its views.

import { chunksAt, historyOf } from "./plane_axis.js";

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

  // Selects a device, at its last failed request if there was one.
  take(history) {
    this.history = history;
    this.step = history.refusals.at(-1)?.step ?? history.steps - 1;
    this.chosen = null;
    this.opened = false;
    this.spanStarts = history.spans.map(([first]) => first);
    this.turns = [...new Set([...history.refusals.map(({ step }) => step), history.peak])].sort((a, b) => a - b);
  }

  go(step) {
    this.step = Math.max(0, Math.min(step, this.history.steps - 1));
    const { piece } = this.chosen ?? {};
    this.chosen = piece ? (this.chunks().find((chunk) => chunk.piece === piece) ?? null) : null;
    this.opened &&= this.chosen !== null;
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
