// Makes a device's memory interactive, step by step, with pointer and keys and without a kernel. Three views share the current
// step and chunk: the layout of memory, each holder's memory over time, and each holder's memory now. The first two zoom.

import { attr, h, put } from "./dom.js";
import { memoryState } from "./memory_state.js";
import { overviewPicture } from "./memory_overview.js";
import { eventAtStep, stepAtEvent } from "./moment.js";
import { drawPicture, drawing } from "./picture.js";
import { PlaneCanvas, themeName } from "./plane_canvas.js";
import { PLANE, aboutPiece, freeInWords } from "./plane_chunks.js";
import { numberOf, planeGround, planeLayout, planeMoment } from "./plane_picture.js";
import { partInWords, sizeInWords } from "./sizes.js";
import { madeBy, newSelection, select } from "./selection.js";
import { groupColumns, stackOf } from "./snapshot_history.js";
import { stackGround, stackLayout, stackMoment } from "./stack_picture.js";
import { table } from "./table.js";
import { treemapLayout, treemapMoment } from "./treemap_picture.js";
import { WORDS, fill } from "./words.js";

const PLANE_ZOOM = 1.5;
const PLANE_WHEEL = 0.002; // zoom per px that a wheel turns
const PLANE_PAN = 0.1;
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

function pointInPlane({ history, side, top, bottom, low, least, axis, y }, x, py, { chunks }) {
  if (x >= side) return { chunk: chunks().find(({ start, size }) => y(start + size) <= py && py <= y(start)) };
  const address = history.measured && py >= top && py <= bottom ? low + (bottom - py) * least : undefined;
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
    [this.ground, this.svg, this.overview] = [drawing(), drawing(), drawing()];
    [this.canvas, this.bar] = [new PlaneCanvas(this.ground), new PlaneCanvas(this.ground)];
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ui.changed);
    const said = WORDS.plane;
    this.slider = h("div", { class: "nbtf-plane", role: "slider", tabindex: "0", "aria-valuemin": "1", onkeydown: (event) => this.press(event) }, this.canvas.node, this.bar.node, this.ground, this.svg);
    for (const name of ["pointerdown", "pointermove"]) this.slider.addEventListener(name, (event) => this.point(event));
    if (drawn.zooms) this.slider.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.detail = h("p", { class: "nbtf-plane-detail", role: "status" });
    const tool = ([label, name, action]) => h("button", { type: "button", title: name, "aria-label": name, onclick: () => this.act(action) }, label);
    const tools = [...this.zooms(), ...this.actions()].map(tool);
    this.stack = h("ol", { class: "nbtf-plane-stack" });
    this.tabular = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.toggleTable() }, WORDS.timeline.table);
    const names = this.state.histories.map(({ name }, at) => h("option", { value: at }, name));
    this.device = h("select", { "aria-label": said.device, onchange: () => this.act((state) => state.take(state.histories[this.device.value])) }, names);
    this.device.hidden = names.length < 2;
    this.groups = h("select", { onchange: () => this.act(({ history }) => groupColumns(history, +this.groups.value)) });
    this.grouped = h("label", { class: "nbtf-plane-groups" }, WORDS.snapshot.groupBy, " ", this.groups);
    this.tables = h("div", { class: "nbtf-tables", hidden: "" });
    const measured = this.state.history.measured;
    const keys = [measured ? WORDS.snapshot.keys : said.keys, drawn.zooms && said.zoomKeys].filter(Boolean).join(" · ");
    this.whole = h("div", { class: "nbtf-plane-overview" }, this.overview);
    this.picture = h("div", null, this.whole, this.slider, this.detail, this.stack, h("p", { class: "nbtf-plane-keys" }, keys));
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
    if (!this.drawn.zooms) return [];
    return [
      ["+", said.zoomIn, () => this.zoomAtStep(1 / PLANE_ZOOM)],
      ["−", said.zoomOut, () => this.zoomAtStep(PLANE_ZOOM)],
      [said.whole, said.whole, (state) => (state.view = null)],
    ];
  }

  // Zooms about the current step and the selected chunk.
  zoomAtStep(factor) {
    const { state, layout: { axis, history, y, bottom } } = this;
    const { from, to } = state.view ?? { from: 0, to: 1 };
    const across = (axis.shareOf(state.step) - from) / (to - from);
    const { start, size } = state.chosen ?? {};
    const up = history.measured && y && size ? (bottom - y(start + size / 2)) / PLANE.height : 0.5;
    state.zoom(factor, Math.min(Math.max(across, 0), 1), Math.min(Math.max(up, 0), 1));
  }

  // Turning the wheel with Ctrl zooms about the pointer; sideways or with Shift, it moves what is in sight.
  wheel(event) {
    const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    const { left, right, top, bottom } = this.sides();
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const [x, y] = this.at(event);
      const share = (at, begin, end) => Math.min(Math.max((at - begin) / (end - begin), 0), 1);
      const up = this.layout.top === undefined || y < top ? 0.5 : 1 - share(y, top, bottom);
      return this.act((state) => state.zoom(Math.exp(event.deltaY * PLANE_WHEEL), share(x, left, right), up));
    }
    if (!this.state.view || (!event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY))) return;
    event.preventDefault();
    this.act((state) => state.pan(across / (right - left), 0));
  }

  sides() {
    const { right, top, bottom } = this.layout;
    return { left: PLANE.left, right, top, bottom };
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
    const axis = this.layout?.axis;
    const seq = step === from ? null : eventAtStep(history, step);
    if (seq !== null) {
      this.ui.moveTo(seq);
      this.state.moment = this.ui.shared.moment;
    }
    if (axis && this.state.view && step !== from && !axis.shows(step)) this.state.centre(axis.shareOf(step));
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
    if (this.drawn.zooms) {
      const [nearer, farther] = [() => this.zoomAtStep(1 / PLANE_ZOOM), () => this.zoomAtStep(PLANE_ZOOM)];
      Object.assign(keys, { "+": nearer, "=": nearer, "-": farther, "0": (state) => (state.view = null) });
      Object.assign(keys, { "[": (state) => state.pan(-PLANE_PAN, 0), "]": (state) => state.pan(PLANE_PAN, 0) });
    }
    if (!keys[event.key]) return;
    event.preventDefault();
    this.act(keys[event.key]);
  }

  // Pressing or dragging along the steps selects a step; pressing a chunk selects the chunk.
  point(event) {
    if (!(event.buttons & 1) || !this.layout) return;
    const [x, y] = this.at(event);
    const { step, address, chunk } = this.drawn.at(this.layout, x, y, { chunks: () => this.state.chunks(), picture: this.shown });
    if (event.type === "pointerdown") {
      this.slider.focus();
      if (chunk) return this.act((state) => state.choose(chunk, true));
      if (step !== undefined) this.slider.setPointerCapture(event.pointerId);
      if (address !== undefined) return this.act((state) => (state.go(step), state.chooseAt(address)));
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
    if (!this.tables.hidden) return this.tables.replaceChildren(table(this.rows()));
    this.layOut(history, width);
    this.shown = this.drawn.moment(this.layout, step, chosen);
    drawPicture(this.svg, this.shown);
    this.bar.draw(this.shown.raster);
    const { slider } = this;
    attr(slider, "aria-label", fill(WORDS.plane.scrub, { name: history.name }));
    attr(slider, "aria-valuemax", history.steps);
    attr(slider, "aria-valuenow", step + 1);
    attr(slider, "aria-valuetext", this.stateInWords());
    attr(this.svg, "data-step", step);
    put(this.detail, chosen ? this.chunkInWords() : "");
    const frames = this.state.opened && chosen?.piece && history.measured ? stackOf(history, chosen.piece) : [];
    this.stack.replaceChildren(...frames.map((frame) => h("li", null, frame)));
  }

  // Draws what all steps have in common, unless that is unchanged.
  layOut(history, width) {
    const view = this.drawn.zooms ? this.state.view : null;
    const key = JSON.stringify([width, view, history.grouping, themeName()]);
    if (this.layout?.key === key && this.layout.history === history) return;
    this.layout = { ...this.drawn.layout(history, width, view), key };
    const ground = this.drawn.ground(this.layout);
    this.ground.toggleAttribute("hidden", ground === NOTHING);
    drawPicture(this.ground, ground);
    this.canvas.draw(ground.raster);
    this.whole.hidden = !history.overview || !this.drawn.zooms;
    if (!this.whole.hidden) drawPicture(this.overview, overviewPicture(history, width));
  }

  // The ways to group the pieces of a device.
  showGroups(history) {
    const ways = history.groupings ?? [];
    this.grouped.hidden = ways.length < 2;
    if (this.ways !== ways) this.groups.replaceChildren(...ways.map(({ by }, at) => h("option", { value: at }, WORDS.snapshot[by])));
    this.ways = ways;
    this.groups.value = history.grouping;
  }

  stateInWords() {
    const { history, step } = this.state;
    const used = history.measured ? sizeInWords(history.inUse[step]) : partInWords(history.inUse[step], history.limit);
    const said = fill(WORDS.plane.state, { ...numberOf(history, step), used, free: freeInWords(history, step) });
    const refusal = history.refusals.find((each) => each.step === step);
    return refusal ? `${said} ${WORDS.memoryPicture.outOfMemory}: ${refusal.sentence}` : said;
  }

  chunkInWords() {
    const { chosen, opened, history } = this.state;
    const { piece, size, region, offset } = chosen;
    const said = WORDS.plane;
    const place = history.measured ? fill(WORDS.snapshot.address, { address: `0x${(history.addresses[region] + offset).toString(16)}` }) : fill(said.place, { region, offset });
    if (!piece) return [fill(said.free, { size: sizeInWords(size) }), ...(opened ? [place] : [])].join(" · ");
    const name = fill(said.used, { name: aboutPiece(piece), size: sizeInWords(size), asked: sizeInWords(piece.requested) });
    const line = !history.measured && piece.line && fill(said.made, { line: piece.line });
    const stream = history.measured && fill(WORDS.snapshot.onStream, { stream: piece.stream });
    return [name, ...(opened ? [line, piece.fate, place, stream] : [])].filter(Boolean).join(" · ");
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
