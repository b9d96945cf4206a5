// How does a reader go through a device's memory, step by step? By pointer and keys; no kernel is asked.

import { attr, h, put } from "./dom.js";
import { drawPicture, drawing } from "./picture.js";
import { chunksAt, historyOf } from "./plane_axis.js";
import { aboutPiece, freeInWords } from "./plane_chunks.js";
import { planeGround, planeLayout, planeMoment } from "./plane_picture.js";
import { partInWords, sizeInWords } from "./sizes.js";
import { WORDS, fill } from "./words.js";

export const planeView = {
  name: "memory",
  title: () => WORDS.plane.title,
  create: (root, devices, ui) => new PlaneView(root, devices, ui),
};

class PlaneView {
  constructor(root, devices, ui) {
    this.ui = ui;
    this.histories = devices.map(historyOf);
    [this.ground, this.svg] = [drawing(), drawing()];
    const said = WORDS.plane;
    this.slider = h("div", { class: "nbtf-plane", role: "slider", tabindex: "0", "aria-valuemin": "1", onkeydown: (event) => this.press(event) }, this.ground, this.svg);
    for (const name of ["pointerdown", "pointermove"]) this.slider.addEventListener(name, (event) => this.point(event));
    this.detail = h("p", { class: "nbtf-plane-detail", role: "status" });
    const tools = this.actions().map(([label, name, action]) => h("button", { type: "button", title: said[name], "aria-label": said[name], onclick: action }, label));
    const names = this.histories.map(({ name }, at) => h("option", { value: at }, name));
    this.device = h("select", { "aria-label": said.device, onchange: () => (this.take(this.histories[this.device.value]), this.ui.changed()) }, names);
    this.device.hidden = names.length < 2;
    root.append(h("div", { class: "nbtf-tools" }, this.device, tools), this.slider, this.detail, h("p", { class: "nbtf-plane-keys" }, said.keys));
    this.take(this.histories[0]);
  }

  // Begins with a device, at its last refusal if there was one.
  take(history) {
    this.history = history;
    this.step = history.refusals.at(-1)?.step ?? history.steps - 1;
    this.chosen = this.layout = null;
    this.opened = false;
    this.spanStarts = history.spans.map(([first]) => first);
    this.turns = [...new Set([...history.refusals.map(({ step }) => step), history.peak])].sort((a, b) => a - b);
  }

  actions() {
    return [
      ["|◀", "turnBefore", () => this.jump(this.turns, -1)],
      ["◀◀", "spanBefore", () => this.jump(this.spanStarts, -1)],
      ["◀", "stepBefore", () => this.go(this.step - 1)],
      ["▶", "stepAfter", () => this.go(this.step + 1)],
      ["▶▶", "spanAfter", () => this.jump(this.spanStarts, 1)],
      ["▶|", "turnAfter", () => this.jump(this.turns, 1)],
      ["▲", "chunkAbove", () => this.chooseBeside(1)],
      ["▼", "chunkBelow", () => this.chooseBeside(-1)],
      ["i", "detail", () => this.open()],
    ];
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { history } = this;
    const across = (way) => (event.shiftKey ? this.jump(this.spanStarts, way) : this.go(this.step + way));
    const keys = {
      ArrowLeft: () => across(-1), ArrowRight: () => across(1),
      PageUp: () => this.jump(this.turns, -1), PageDown: () => this.jump(this.turns, 1),
      Home: () => this.go(0), End: () => this.go(history.steps - 1),
      ArrowUp: () => this.chooseBeside(1), ArrowDown: () => this.chooseBeside(-1), Enter: () => this.open(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  // A press or a drag in the plane is a step, a press in the cross-section a chunk.
  point(event) {
    if (!(event.buttons & 1) || !this.layout) return;
    const box = this.svg.getBoundingClientRect();
    const scale = this.layout.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    if (event.type === "pointerdown") {
      this.slider.focus();
      if (x >= this.layout.side) return this.chooseAt(this.layout, y);
      this.slider.setPointerCapture(event.pointerId);
    }
    if (this.slider.hasPointerCapture(event.pointerId)) this.go(this.layout.axis.stepAt(x));
  }

  go(step) {
    this.step = Math.max(0, Math.min(step, this.history.steps - 1));
    const { piece } = this.chosen ?? {};
    this.chosen = piece ? (this.chunks().find((chunk) => chunk.piece === piece) ?? null) : null;
    this.opened &&= this.chosen !== null;
    this.ui.changed();
  }

  // The nearest of some steps in a direction.
  jump(steps, way) {
    const ahead = steps.filter((step) => (step - this.step) * way > 0);
    if (ahead.length) this.go(way > 0 ? ahead[0] : ahead.at(-1));
  }

  chunks() {
    return chunksAt(this.history, this.step).toSorted((a, b) => a.start - b.start);
  }

  chooseBeside(way) {
    const chunks = this.chunks();
    const at = this.chosen ? chunks.findIndex(({ start }) => start === this.chosen.start) : way > 0 ? -1 : chunks.length;
    this.choose(chunks[Math.max(0, Math.min(at + way, chunks.length - 1))] ?? null);
  }

  chooseAt(layout, y) {
    const chunk = this.chunks().find(({ start, size }) => layout.y(start + size) <= y && y <= layout.y(start));
    if (!chunk) return;
    this.choose(chunk);
    this.open();
  }

  choose(chunk) {
    this.chosen = chunk;
    this.opened = false;
    this.ui.changed();
  }

  // Says all about the chosen chunk; the lowest where none is.
  open() {
    if (!this.chosen) this.chooseBeside(1);
    this.opened = this.chosen !== null;
    this.ui.changed();
  }

  draw(width) {
    if (this.layout?.asked !== width) {
      this.layout = { ...planeLayout(this.history, width), asked: width };
      drawPicture(this.ground, planeGround(this.layout));
    }
    const { history, step, slider } = this;
    drawPicture(this.svg, planeMoment(this.layout, step, this.chosen));
    attr(slider, "aria-label", fill(WORDS.plane.scrub, { name: history.name }));
    attr(slider, "aria-valuemax", history.steps);
    attr(slider, "aria-valuenow", step + 1);
    attr(slider, "aria-valuetext", this.stateInWords());
    attr(this.svg, "data-step", step);
    put(this.detail, this.chosen ? this.chunkInWords() : "");
  }

  stateInWords() {
    const { history, step } = this;
    const used = partInWords(history.inUse[step], history.limit);
    const state = fill(WORDS.plane.state, { i: step + 1, n: history.steps, used, free: freeInWords(history, step) });
    const refusal = history.refusals.find((each) => each.step === step);
    return refusal ? `${state} ${WORDS.memoryPicture.outOfMemory}: ${refusal.sentence}` : state;
  }

  chunkInWords() {
    const { piece, size, region, offset } = this.chosen;
    const said = WORDS.plane;
    if (!piece) return [fill(said.free, { size: sizeInWords(size) }), ...(this.opened ? [fill(said.place, { region, offset })] : [])].join(" · ");
    const name = fill(said.used, { name: aboutPiece(piece), size: sizeInWords(size), asked: sizeInWords(piece.requested) });
    const lines = [piece.line && fill(said.made, { line: piece.line }), piece.fate, fill(said.place, { region, offset })];
    return [name, ...(this.opened ? lines : [])].filter(Boolean).join(" · ");
  }
}
