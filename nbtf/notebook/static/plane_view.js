// Makes a device's memory interactive, step by step, with pointer and keys and without a kernel. Three views share the current
// step, chunk and range of steps: the layout of memory, each holder's memory over time, and each holder's memory now. The first two
// zoom, and dragging selects a range in them.

import { attr, h, put } from "./dom.js";
import { followPointer, setBox } from "./drag_handle.js";
import { memoryState } from "./memory_state.js";
import { overviewPicture } from "./memory_overview.js";
import { chunkInWords, stepInWords, tableOfChunks } from "./memory_words.js";
import { eventAtStep, stepAtEvent } from "./moment.js";
import { drawPicture, drawing } from "./picture.js";
import { PlaneCanvas, themeName } from "./plane_canvas.js";
import { framesOfPiece } from "./piece_stack.js";
import { planeGround, planeLayout, planeMoment } from "./plane_picture.js";
import { PLANE } from "./plane_sizes.js";
import { PlaneZoom } from "./plane_zoom.js";
import { SelectedSteps } from "./selected_steps.js";
import { madeBy, newSelection, select } from "./selection.js";
import { groupColumns } from "./snapshot_history.js";
import { stackGround, stackLayout, stackMoment } from "./stack_picture.js";
import { table } from "./table.js";
import { treemapLayout, treemapMoment } from "./treemap_picture.js";
import { WORDS, fill } from "./words.js";

const PLANE_DRAG = 4; // px that a pressed pointer moves before it selects a range
const GRIP = 24; // px of the handle of the scrubber
const NOTHING = { width: 0, height: 0, marks: [], clear: true };

// A drawing: its layout, the marks of all steps, the marks that a step and a selected chunk add, and what is at a point: a step,
// an address, a chunk, or nothing. A layout that zooms has an axis.
const PLANE_DRAWING = { layout: planeLayout, ground: planeGround, moment: planeMoment, at: pointInPlane, zooms: true };
const STACK_DRAWING = { layout: stackLayout, ground: stackGround, moment: stackMoment, at: (layout, x) => ({ step: layout.axis.stepAt(x) }), zooms: true };
const TREEMAP_DRAWING = { layout: treemapLayout, ground: () => NOTHING, moment: treemapMoment, at: pointInTreemap, zooms: false };

export const planeView = viewOfMemory(() => WORDS.plane.title, PLANE_DRAWING);
export const stackView = viewOfMemory(() => WORDS.plane.stacked, STACK_DRAWING);
export const treemapView = viewOfMemory(() => WORDS.plane.treemap, TREEMAP_DRAWING);

function viewOfMemory(title, drawn) {
  return { name: "memory", title, create: (root, devices, ui) => new PlaneView(root, devices, ui, drawn) };
}

function pointInPlane({ side, top, bottom, low, least, axis }, x, py, { chunks }) {
  const address = py >= top && py <= bottom ? low + (bottom - py) * least : undefined;
  if (x >= side) return { chunk: chunks().find(({ start, size }) => start <= address && address < start + size) };
  return { step: axis.stepAt(x), address };
}

function pointInTreemap(_, x, y, { chunks, picture }) {
  const inside = ({ box }) => box.x <= x && x <= box.x + box.width && box.y <= y && y <= box.y + box.height;
  const piece = picture.boxes.find(inside)?.piece;
  return { chunk: piece && chunks().find((chunk) => chunk.piece === (piece.member ?? piece)) };
}

class PlaneView {
  constructor(root, devices, ui, drawn) {
    this.ui = ui;
    this.drawn = drawn;
    this.state = memoryState(ui.shared, devices);
    this.zoom = drawn.zooms ? new PlaneZoom(this) : null;
    [this.ground, this.svg, this.overview] = [drawing(), drawing(), drawing()];
    [this.canvas, this.bar] = [new PlaneCanvas(this.ground), new PlaneCanvas(this.ground)];
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ui.changed);
    const said = WORDS.plane;
    this.grip = h("div", { class: "nbtf-plane-grip", "aria-hidden": "true", hidden: "" });
    this.slider = h("div", { class: "nbtf-plane", role: "slider", tabindex: "0", "aria-valuemin": "1", onkeydown: (event) => this.press(event) }, this.canvas.node, this.bar.node, this.ground, this.svg, this.grip);
    this.slider.addEventListener("pointerdown", (event) => this.point(event));
    if (this.zoom) {
      this.slider.addEventListener("pointermove", (event) => this.hover(event));
      this.slider.addEventListener("pointerleave", () => (this.zoom.pointer = null));
      this.slider.addEventListener("wheel", (event) => this.zoom.wheel(event), { passive: false });
    }
    this.selected = this.zoom ? new SelectedSteps(this) : null;
    const stage = h("div", { class: "nbtf-plane-stage", onkeydown: (event) => event.target !== this.slider && this.press(event) }, this.slider, this.selected?.nodes ?? []);
    this.detail = h("p", { class: "nbtf-plane-detail", role: "status" });
    const tool = ([label, name, action]) => h("button", { type: "button", title: name, "aria-label": name, onclick: () => this.act(action) }, label);
    const tools = [...this.zooms(), ...this.actions()].map(tool);
    this.stack = h("div", null);
    this.tabular = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.toggleTable() }, WORDS.timeline.table);
    const names = this.state.histories.map(({ name }, at) => h("option", { value: at }, name));
    this.device = h("select", { "aria-label": said.device, onchange: () => this.act((state) => state.take(state.histories[this.device.value])) }, names);
    this.device.hidden = names.length < 2;
    this.groups = h("select", { onchange: () => this.act(({ history }) => groupColumns(history, +this.groups.value)) });
    this.grouped = h("label", { class: "nbtf-plane-groups" }, WORDS.snapshot.groupBy, " ", this.groups);
    this.tables = h("div", { class: "nbtf-tables", hidden: "" });
    const measured = this.state.history.measured;
    const keys = [measured ? WORDS.snapshot.keys : said.keys, this.zoom && said.zoomKeys].filter(Boolean).join(" · ");
    this.whole = h("div", { class: "nbtf-plane-overview" }, this.overview);
    this.picture = h("div", null, this.whole, stage, this.detail, this.stack, this.selected?.panel.panel, h("p", { class: "nbtf-plane-keys" }, keys));
    root.append(h("div", { class: "nbtf-tools" }, this.device, this.grouped, tools, this.tabular), this.picture, this.tables);
  }

  actions() {
    const said = WORDS.plane;
    const spans = [["◀◀", said.spanBefore, (state) => state.jump(state.spanStarts, -1)], ["▶▶", said.spanAfter, (state) => state.jump(state.spanStarts, 1)]];
    const [before, after] = this.state.histories.some((history) => history.spans.length) ? spans : [];
    return [
      ["|◀", said.turnBefore, (state) => state.jump(state.turns, -1)],
      before,
      ["◀", said.stepBefore, (state) => state.go(state.step - 1)],
      ["▶", said.stepAfter, (state) => state.go(state.step + 1)],
      after,
      ["▶|", said.turnAfter, (state) => state.jump(state.turns, 1)],
      ["▲", said.chunkAbove, (state) => state.chooseBeside(1)],
      ["▼", said.chunkBelow, (state) => state.chooseBeside(-1)],
      ["i", said.detail, (state) => state.open()],
    ].filter(Boolean);
  }

  zooms() {
    const said = WORDS.timeline;
    if (!this.zoom) return [];
    return [
      ["+", said.zoomIn, this.zoom.nearer],
      ["−", said.zoomOut, this.zoom.farther],
      [said.whole, said.whole, (state) => (state.view = null)],
      ["⇿", said.selectRange, (state) => this.selectSteps(state)],
    ];
  }

  // Selects the steps of the selected piece or, without one, those in sight.
  selectSteps(state) {
    const { axis, right } = this.layout;
    const { piece } = state.chosen ?? {};
    state.select(piece ? { from: piece.birth, to: piece.death - 1 } : { from: axis.stepAt(PLANE.left), to: axis.stepAt(right - 0.5) });
  }

  // The px of a pointer in the picture.
  at(event) {
    const box = this.svg.getBoundingClientRect();
    const scale = this.shown.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }

  act(action) {
    const { chosen: before, step: from } = this.state;
    action(this.state);
    const { chosen, history, step } = this.state;
    if (chosen?.piece && chosen.piece !== before?.piece) select(this.state, this.ui.shared, { device: history.name, piece: chosen.piece });
    const seq = step === from ? null : eventAtStep(history, step);
    if (seq !== null) {
      this.ui.moveTo(seq);
      this.state.moment = this.ui.shared.moment;
    }
    if (this.zoom && this.layout && this.state.view) this.zoom.follow(this.state, step !== from, chosen !== before ? chosen : null);
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
    if (this.zoom) {
      Object.assign(keys, this.zoom.keys(), { m: (state) => this.selectSteps(state) });
      if (this.state.range) keys.Escape = (state) => state.select(null);
    }
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || !this.layout) return;
    event.preventDefault();
    this.act(action);
  }

  // Pressing selects a step and the chunk there. Moving on selects the range in between; from the scrubber's handle, it only scrubs.
  point(event) {
    if (event.button || !this.layout) return;
    const [x, y] = this.at(event);
    const { step, address, chunk } = this.drawn.at(this.layout, x, y, { chunks: () => this.state.chunks(), picture: this.shown });
    this.slider.focus();
    if (chunk) return this.act((state) => state.choose(chunk, true));
    if (step === undefined || !this.isOnSteps(x)) return;
    const scrubs = event.target === this.grip;
    if (!scrubs) this.act((state) => (state.go(step), state.select(null), address !== undefined && state.chooseAt(address)));
    const drag = (move) => {
      if (!this.slider.hasPointerCapture(move.pointerId)) {
        if (Math.abs(move.clientX - event.clientX) < PLANE_DRAG) return;
        this.slider.setPointerCapture(move.pointerId);
      }
      const next = this.stepAt(move);
      this.act((state) => (scrubs || state.select({ from: step, to: next }), state.go(next)));
    };
    followPointer({ currentTarget: this.slider, pointerId: event.pointerId }, drag, false);
  }

  // Whether a picture has several steps, of which one lies at some px.
  isOnSteps(x) {
    if (!this.zoom) return false;
    const { left, right } = this.zoom.sides();
    return this.state.history.steps > 1 && x >= left && x <= right;
  }

  // The step at a pointer, which may be beside the picture.
  stepAt(event) {
    const { left, right } = this.zoom.sides();
    return this.layout.axis.stepAt(Math.min(Math.max(this.at(event)[0], left), right - 0.01));
  }

  // The pointer looks like a cross where it can drag.
  hover(event) {
    if (!this.layout) return;
    this.zoom.pointer = { clientX: event.clientX, clientY: event.clientY };
    this.slider.toggleAttribute("data-drags", this.isOnSteps(this.at(event)[0]));
  }

  toggleTable() {
    const shown = this.tables.hidden;
    this.tables.hidden = !shown;
    this.picture.hidden = shown;
    attr(this.tabular, "aria-pressed", String(shown));
    this.ui.changed();
  }

  // Adopts the moment of another view.
  takeMoment() {
    const { state, ui: { shared: { moment } } } = this;
    if (!moment || state.moment === moment) return;
    state.moment = moment;
    const step = stepAtEvent(state.history, moment.seq, this.ui.shared.scene);
    if (step !== null) state.go(step);
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
    this.takeMoment();
    this.takeSelection();
    const { history, step, chosen, histories } = this.state;
    this.device.value = histories.indexOf(history);
    this.showGroups(history);
    if (!this.tables.hidden) return this.tables.replaceChildren(table(tableOfChunks(history, step, this.state.chunks())));
    this.layOut(history, width);
    this.shown = this.drawn.moment(this.layout, step, chosen);
    drawPicture(this.svg, this.shown);
    this.bar.draw(this.shown.raster);
    const { slider } = this;
    attr(slider, "aria-label", fill(WORDS.plane.scrub, { name: history.name }));
    attr(slider, "aria-valuemax", history.steps);
    attr(slider, "aria-valuenow", step + 1);
    attr(slider, "aria-valuetext", stepInWords(history, step));
    attr(this.svg, "data-step", step);
    put(this.detail, chosen ? chunkInWords(history, chosen, this.state.opened) : "");
    this.showStack(history, this.state.opened ? chosen?.piece : null);
    if (this.selected) this.selected.draw(history, this.state.range, this.layout);
    this.placeGrip();
  }

  // Lists the frames of a piece; the list is kept while the piece is, so that frames stay unfolded.
  showStack(history, piece) {
    if (this.stackOf === (piece ?? null)) return;
    this.stackOf = piece ?? null;
    this.stack.replaceChildren(...[piece && framesOfPiece(history, piece)].filter(Boolean));
  }

  placeGrip() {
    const { axis, bottom } = this.layout;
    this.grip.hidden = !this.zoom || this.state.history.steps < 2 || !axis.shows(this.state.step);
    if (!this.grip.hidden) setBox(this.grip, axis.middle(this.state.step) - GRIP / 2, bottom - GRIP / 4, GRIP, GRIP);
  }

  // Draws what all steps have in common, unless that is unchanged.
  layOut(history, width) {
    const view = this.zoom ? this.state.view : null;
    const key = JSON.stringify([width, view, history.grouping, themeName()]);
    if (this.layout?.key === key && this.layout.history === history) return;
    const isKept = !view && this.unzoomed?.layout.key === key && this.unzoomed.layout.history === history;
    const { layout, ground } = isKept ? this.unzoomed : this.laidOut(history, width, view, key);
    if (!view) this.unzoomed = { layout, ground }; // readers often return to the whole, which takes longest to draw
    this.layout = layout;
    this.ground.toggleAttribute("hidden", ground === NOTHING);
    drawPicture(this.ground, ground);
    this.canvas.draw(ground.raster);
    this.whole.hidden = !history.overview || !this.zoom;
    const overview = `${history.name} ${width} ${history.grouping}`;
    if (!this.whole.hidden && this.overviewOf !== overview) drawPicture(this.overview, overviewPicture(history, width));
    this.overviewOf = overview;
  }

  laidOut(history, width, view, key) {
    const layout = { ...this.drawn.layout(history, width, view), key };
    return { layout, ground: this.drawn.ground(layout) };
  }

  // The ways to group the pieces of a device.
  showGroups(history) {
    const ways = history.groupings ?? [];
    this.grouped.hidden = ways.length < 2;
    if (this.ways !== ways) this.groups.replaceChildren(...ways.map(({ by }, at) => h("option", { value: at }, WORDS.snapshot[by])));
    this.ways = ways;
    this.groups.value = history.grouping;
  }
}
