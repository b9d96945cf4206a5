// Makes a device's memory interactive, step by step, with pointer and keys and without a kernel. Three views share the current
// step and chunk: the layout of memory, each holder's memory over time, and each holder's memory now.

import { attr, h, put } from "./dom.js";
import { memoryState } from "./memory_state.js";
import { drawPicture, drawing } from "./picture.js";
import { aboutPiece, freeInWords } from "./plane_chunks.js";
import { planeGround, planeLayout, planeMoment } from "./plane_picture.js";
import { partInWords, sizeInWords } from "./sizes.js";
import { madeBy, newSelection, select } from "./selection.js";
import { stackGround, stackLayout, stackMoment } from "./stack_picture.js";
import { table } from "./table.js";
import { treemapLayout, treemapMoment } from "./treemap_picture.js";
import { WORDS, fill } from "./words.js";

const NOTHING = { width: 0, height: 0, marks: [], clear: true };

// A drawing: its layout, the marks of all steps, the marks that a step and a selected chunk add, and what is at a point: a step,
// a chunk, or nothing.
const PLANE_DRAWING = { layout: planeLayout, ground: planeGround, moment: planeMoment, at: pointInPlane };
const STACK_DRAWING = { layout: stackLayout, ground: stackGround, moment: stackMoment, at: (layout, x) => ({ step: layout.axis.stepAt(x) }) };
const TREEMAP_DRAWING = { layout: treemapLayout, ground: () => NOTHING, moment: treemapMoment, at: pointInTreemap };

export const planeView = viewOfMemory(() => WORDS.plane.title, PLANE_DRAWING);
export const stackView = viewOfMemory(() => WORDS.plane.stacked, STACK_DRAWING);
export const treemapView = viewOfMemory(() => WORDS.plane.treemap, TREEMAP_DRAWING);

function viewOfMemory(title, drawn) {
  return { name: "memory", title, create: (root, devices, ui) => new PlaneView(root, devices, ui, drawn) };
}

function pointInPlane({ side, axis, y }, x, py, { chunks }) {
  if (x < side) return { step: axis.stepAt(x) };
  return { chunk: chunks().find(({ start, size }) => y(start + size) <= py && py <= y(start)) };
}

function pointInTreemap(_, x, y, { chunks, picture }) {
  const inside = ({ box }) => box.x <= x && x <= box.x + box.width && box.y <= y && y <= box.y + box.height;
  const piece = picture.boxes.find(inside)?.piece;
  return { chunk: piece && chunks().find((chunk) => chunk.piece === piece) };
}

class PlaneView {
  constructor(root, devices, ui, drawn) {
    this.ui = ui;
    this.drawn = drawn;
    this.state = memoryState(ui.shared, devices);
    [this.ground, this.svg] = [drawing(), drawing()];
    const said = WORDS.plane;
    this.slider = h("div", { class: "nbtf-plane", role: "slider", tabindex: "0", "aria-valuemin": "1", onkeydown: (event) => this.press(event) }, this.ground, this.svg);
    for (const name of ["pointerdown", "pointermove"]) this.slider.addEventListener(name, (event) => this.point(event));
    this.detail = h("p", { class: "nbtf-plane-detail", role: "status" });
    const tools = this.actions().map(([label, name, action]) => h("button", { type: "button", title: said[name], "aria-label": said[name], onclick: () => this.act(action) }, label));
    this.tabular = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.toggleTable() }, WORDS.timeline.table);
    const names = this.state.histories.map(({ name }, at) => h("option", { value: at }, name));
    this.device = h("select", { "aria-label": said.device, onchange: () => this.act((state) => state.take(state.histories[this.device.value])) }, names);
    this.device.hidden = names.length < 2;
    this.tables = h("div", { class: "nbtf-tables", hidden: "" });
    this.picture = h("div", null, this.slider, this.detail, h("p", { class: "nbtf-plane-keys" }, said.keys));
    root.append(h("div", { class: "nbtf-tools" }, this.device, tools, this.tabular), this.picture, this.tables);
  }

  actions() {
    return [
      ["|◀", "turnBefore", (state) => state.jump(state.turns, -1)],
      ["◀◀", "spanBefore", (state) => state.jump(state.spanStarts, -1)],
      ["◀", "stepBefore", (state) => state.go(state.step - 1)],
      ["▶", "stepAfter", (state) => state.go(state.step + 1)],
      ["▶▶", "spanAfter", (state) => state.jump(state.spanStarts, 1)],
      ["▶|", "turnAfter", (state) => state.jump(state.turns, 1)],
      ["▲", "chunkAbove", (state) => state.chooseBeside(1)],
      ["▼", "chunkBelow", (state) => state.chooseBeside(-1)],
      ["i", "detail", (state) => state.open()],
    ];
  }

  act(action) {
    const before = this.state.chosen?.piece;
    action(this.state);
    const { chosen, history } = this.state;
    if (chosen?.piece && chosen.piece !== before) select(this.state, this.ui.shared, { device: history.name, piece: chosen.piece });
    this.ui.changed();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const across = (way) => (state) => (event.shiftKey ? state.jump(state.spanStarts, way) : state.go(state.step + way));
    const keys = {
      ArrowLeft: across(-1), ArrowRight: across(1),
      PageUp: (state) => state.jump(state.turns, -1), PageDown: (state) => state.jump(state.turns, 1),
      Home: (state) => state.go(0), End: (state) => state.go(state.history.steps - 1),
      ArrowUp: (state) => state.chooseBeside(1), ArrowDown: (state) => state.chooseBeside(-1), Enter: (state) => state.open(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    this.act(keys[event.key]);
  }

  // Pressing or dragging along the steps selects a step; pressing a chunk selects the chunk.
  point(event) {
    if (!(event.buttons & 1) || !this.layout) return;
    const box = this.svg.getBoundingClientRect();
    const scale = this.shown.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const { step, chunk } = this.drawn.at(this.layout, x, y, { chunks: () => this.state.chunks(), picture: this.shown });
    if (event.type === "pointerdown") {
      this.slider.focus();
      if (chunk) return this.act((state) => state.choose(chunk, true));
      if (step !== undefined) this.slider.setPointerCapture(event.pointerId);
    }
    if (step !== undefined && this.slider.hasPointerCapture(event.pointerId)) this.act((state) => state.go(step));
  }

  toggleTable() {
    const shown = this.tables.hidden;
    this.tables.hidden = !shown;
    this.picture.hidden = shown;
    attr(this.tabular, "aria-pressed", String(shown));
    this.ui.changed();
  }

  // Adopts the selection of another view: the step that created a piece, or a device.
  takeSelection() {
    const { state, ui: { shared } } = this;
    const selection = newSelection(state, shared);
    if (!selection || selection.piece) return;
    if (selection.device) {
      const history = state.histories.find(({ name }) => name === selection.device);
      return void (history && history !== state.history && state.take(history));
    }
    const made = madeBy(shared.scene, state.histories, selection);
    if (!made) return;
    if (made.history !== state.history) state.take(made.history);
    state.go(made.piece.birth);
    state.choose(state.chunks().find(({ piece }) => piece === made.piece) ?? null, true);
  }

  draw(width) {
    this.takeSelection();
    const { history, step, chosen, histories } = this.state;
    this.device.value = histories.indexOf(history);
    if (!this.tables.hidden) return this.tables.replaceChildren(table(this.rows()));
    if (this.layout?.asked !== width || this.layout.history !== history) {
      this.layout = { ...this.drawn.layout(history, width), asked: width };
      const ground = this.drawn.ground(this.layout);
      this.ground.toggleAttribute("hidden", ground === NOTHING);
      drawPicture(this.ground, ground);
    }
    this.shown = this.drawn.moment(this.layout, step, chosen);
    drawPicture(this.svg, this.shown);
    const { slider } = this;
    attr(slider, "aria-label", fill(WORDS.plane.scrub, { name: history.name }));
    attr(slider, "aria-valuemax", history.steps);
    attr(slider, "aria-valuenow", step + 1);
    attr(slider, "aria-valuetext", this.stateInWords());
    attr(this.svg, "data-step", step);
    put(this.detail, chosen ? this.chunkInWords() : "");
  }

  stateInWords() {
    const { history, step } = this.state;
    const used = partInWords(history.inUse[step], history.limit);
    const said = fill(WORDS.plane.state, { i: step + 1, n: history.steps, used, free: freeInWords(history, step) });
    const refusal = history.refusals.find((each) => each.step === step);
    return refusal ? `${said} ${WORDS.memoryPicture.outOfMemory}: ${refusal.sentence}` : said;
  }

  chunkInWords() {
    const { chosen, opened } = this.state;
    const { piece, size, region, offset } = chosen;
    const said = WORDS.plane;
    if (!piece) return [fill(said.free, { size: sizeInWords(size) }), ...(opened ? [fill(said.place, { region, offset })] : [])].join(" · ");
    const name = fill(said.used, { name: aboutPiece(piece), size: sizeInWords(size), asked: sizeInWords(piece.requested) });
    const lines = [piece.line && fill(said.made, { line: piece.line }), piece.fate, fill(said.place, { region, offset })];
    return [name, ...(opened ? lines : [])].filter(Boolean).join(" · ");
  }

  // The chunks of the step.
  rows() {
    const said = WORDS.plane;
    const number = (label) => ({ label, number: true });
    const columns = [said.piece, number(said.charged), number(said.asked), said.line, said.fate];
    const rows = this.state.chunks().map(({ piece, size }) => (
      piece ? [aboutPiece(piece), sizeInWords(size), sizeInWords(piece.requested), piece.line, piece.fate] : [WORDS.memoryPicture.free, sizeInWords(size)]
    ));
    return { caption: this.stateInWords(), columns, rows: rows.map((row) => columns.map((_, at) => row[at])), notes: [] };
  }
}
