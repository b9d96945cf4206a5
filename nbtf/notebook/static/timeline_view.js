// Makes the timeline interactive, with brush, wheel and keys; each op and copy can be selected, and then describes itself.

import { h, put } from "./dom.js";
import { drawPicture, drawing } from "./picture.js";
import { makerOf, newSelection, select } from "./selection.js";
import { table } from "./table.js";
import { durationWords } from "./time_scale.js";
import { detailSentence, timeline } from "./timeline.js";
import { copyIsFolded, factOf, filteredScene, fromWhole, opIsFolded, opsIn, spanOfStop, stopIndex, stopOf, stopsOf, timelineScene, toWhole } from "./timeline_scene.js";
import { WORDS, fill, listed } from "./words.js";

const ZOOM = 1.5;
const PAN = 0.1;
const LEAST_WINDOW = 1e-9; // seconds
const MOST_ROWS = 1000;
const HANDLE_WIDTH = 24;
const FINE_ENOUGH = 0.5; // minimum share of a window that is known exactly; below it, more data is requested
const ASK_AFTER = 100; // milliseconds, so that a drag sends one request
const FILTER_AFTER = 150; // milliseconds without further typing

export const timelineView = {
  name: "timeline",
  title: () => WORDS.timeline.title,
  create: (root, data, ui) => new TimelineView(root, data, ui),
};

class TimelineView {
  constructor(root, data, ui) {
    this.ui = ui;
    this.whole = this.scene = ui.shared.scene = timelineScene(data);
    this.window = { from: 0, to: this.scene.seconds };
    this.chosen = this.scene.longest;
    this.svg = drawing();
    this.build(root);
  }

  build(root) {
    const said = WORDS.timeline;
    const tool = (label, title, onclick, rest = {}) => h("button", { type: "button", title, "aria-label": title, onclick, ...rest }, label);
    this.tabular = tool(said.table, said.table, () => this.toggleTable(), { "aria-pressed": "false" });
    const tools = [tool("+", said.zoomIn, () => this.zoom(1 / ZOOM)), tool("−", said.zoomOut, () => this.zoom(ZOOM)), tool(said.whole, said.whole, () => this.showAll())];
    this.overview = h("div", { class: "nbtf-time-overview", onpointerdown: (event) => this.brushFrom(event) });
    this.brush = h("div", { class: "nbtf-time-brush" });
    this.handles = ["from", "to"].map((side) => this.handle(side));
    this.lanes = this.scene.lanes.map((lane) => this.laneStop(lane));
    this.time = h(
      "div",
      { class: "nbtf-time", role: "group", tabindex: "-1", "aria-label": said.title, onkeydown: (event) => this.press(event), onclick: (event) => this.choose(event) },
      this.svg, this.overview, this.brush, this.handles, this.lanes,
    );
    this.time.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.tables = h("div", { class: "nbtf-tables", hidden: "" });
    this.span = h("span", { class: "nbtf-time-span" });
    this.filter = h("input", { class: "nbtf-time-filter", type: "search", placeholder: said.filter, "aria-label": said.filter, oninput: () => this.filterSoon(), onkeydown: (event) => this.pressInFilter(event) });
    this.filter.hidden = Boolean(this.scene.detail); // the page lacks most ops of a long recording
    root.append(h("div", { class: "nbtf-tools" }, tools, this.tabular, this.filter, this.span), this.time, this.tables);
    root.addEventListener("keydown", (event) => this.pressSlash(event));
  }

  pressSlash(event) {
    if (event.key !== "/" || event.target === this.filter || event.ctrlKey || event.metaKey || event.altKey) return;
    swallow(event);
    this.filter.focus();
  }

  pressInFilter(event) {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    this.filter.value = "";
    this.applyFilter();
  }

  filterSoon() {
    clearTimeout(this.filterDue);
    this.filterDue = setTimeout(() => this.applyFilter(), FILTER_AFTER);
  }

  // Shows the matching ops; a matching selection is kept.
  applyFilter() {
    const text = this.filter.value.trim();
    const chosen = toWhole(this.scene, this.chosen);
    this.scene = text ? filteredScene(this.whole, text, WORDS.timeline) : this.whole;
    this.chosen = fromWhole(this.scene, chosen) ?? this.scene.longest;
    this.ui.changed();
  }

  handle(side) {
    const name = WORDS.timeline[side === "from" ? "windowBegin" : "windowEnd"];
    const keys = (event) => {
      const step = { ArrowLeft: -PAN, ArrowDown: -PAN, ArrowRight: PAN, ArrowUp: PAN }[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      swallow(event);
      this.moveEdge(side, this.window[side] + step * (this.window.to - this.window.from));
    };
    const drag = (event) => {
      swallow(event);
      event.currentTarget.focus();
      followPointer(event, (move) => this.moveEdge(side, this.momentAt(move, this.parts.whole)));
    };
    return h("div", { class: "nbtf-time-handle", role: "slider", tabindex: "0", "aria-label": name, onkeydown: keys, onpointerdown: drag });
  }

  laneStop({ number, name }) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const keys = (event) => {
      if (!step[event.key] || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
      swallow(event);
      this.walk(this.scene.lanes[number], step[event.key]);
    };
    const focus = () => this.positionIn(this.scene.lanes[number]) < 0 && this.walk(this.scene.lanes[number], 0);
    return h("div", { class: "nbtf-time-lane", role: "slider", tabindex: "0", "aria-label": name, "data-lane": number, onkeydown: keys, onfocus: focus });
  }

  // Shows the op that another view has selected, if it matches the filter.
  takeSelection() {
    const selection = newSelection(this, this.ui.shared);
    const chosen = selection?.piece ? fromWhole(this.scene, makerOf(this.whole, selection)) : null;
    if (!chosen) return;
    this.chosen = chosen;
    this.bringIntoSight();
  }

  draw(width) {
    this.takeSelection();
    if (!this.tables.hidden) return this.tables.replaceChildren(table(this.rows()));
    const picture = timeline(this.scene, { ...this.window, chosen: this.chosen }, width, WORDS.timeline);
    this.parts = picture.parts;
    drawPicture(this.svg, picture);
    this.time.setAttribute("aria-label", picture.title);
    this.saySpan();
    this.placeBrush();
    this.askForDetail();
    this.lanes.forEach((element, number) => this.placeLane(element, number));
  }

  // Which part is visible, and how much of it only as density.
  saySpan() {
    const said = WORDS.timeline;
    const span = fill(said.shown, { from: durationWords(this.window.from), to: durationWords(this.window.to) });
    const dense = this.parts.dense + (this.scene.detail?.summed ?? 0);
    const { scene, whole } = this;
    const fits = scene === whole ? [] : [fill(said.fits, { n: scene.ops.start.length, all: whole.ops.start.length })];
    put(this.span, listed([...fits, span, ...(dense ? [fill(said.density, { n: dense })] : [])]));
  }

  // A page has the visible part of a long recording, and columns for the rest; it requests more when those are too coarse.
  askForDetail() {
    const { detail } = this.scene;
    const { from, to } = this.window;
    if (!detail || this.asked || !this.ui.ask) return;
    const isInside = from >= detail.from && to <= detail.to;
    if (isInside && (!detail.summed || to - from > FINE_ENOUGH * (detail.to - detail.from))) return;
    this.asked = true;
    setTimeout(() => {
      this.ui.ask({ what: "timeline", ...this.window }).then((data) => this.renew(data), () => {}).finally(() => (this.asked = false));
    }, ASK_AFTER);
  }

  // Accepts more exact data of the same recording; the selection is kept.
  renew(data) {
    const chosen = this.chosen && spanOfStop(this.scene, this.chosen)[0];
    const isOp = this.chosen?.op !== undefined;
    const lane = isOp && this.scene.lanes.findIndex(({ first, last }) => first <= this.chosen.op && this.chosen.op < last);
    this.whole = this.scene = timelineScene(data);
    const columns = isOp ? this.scene.ops : this.scene.copies;
    const at = columns.start.findIndex((start, number) => start === chosen && (isOp ? isOpOf(this.scene, lane, number) : !copyIsFolded(this.scene, number)));
    this.chosen = at < 0 ? this.scene.longest : isOp ? { op: at } : { copy: at };
    this.ui.changed();
  }

  placeBrush() {
    const { overview, whole } = this.parts;
    const [left, right] = [whole.inside(this.window.from), whole.inside(this.window.to)];
    setBox(this.overview, whole.begin, overview.y, whole.width, overview.height);
    setBox(this.brush, left, overview.y, Math.max(right - left, 2), overview.height);
    this.handles.forEach((handle, number) => {
      setBox(handle, (number ? right : left) - HANDLE_WIDTH / 2, overview.y, HANDLE_WIDTH, overview.height);
      const value = this.window[number ? "to" : "from"];
      sliderAt(handle, value, this.scene.seconds, durationWords(value));
    });
  }

  placeLane(element, number) {
    const lane = this.parts.lanes[number];
    element.hidden = !lane;
    if (!lane) return;
    const { begin, width } = this.parts.scale;
    setBox(element, begin, lane.y, width, lane.height);
    const stops = stopsOf(this.scene, this.scene.lanes[number]);
    const at = this.positionIn(this.scene.lanes[number]);
    sliderAt(element, at + 1, stops.length, at < 0 ? fill(WORDS.timeline.stops, { n: stops.length }) : detailSentence(this.scene, WORDS.timeline, stopOf(stops[at])));
  }

  positionIn(lane) {
    return this.chosen ? stopIndex(this.scene, lane, this.chosen) : -1;
  }

  walk(lane, step) {
    const stops = stopsOf(this.scene, lane);
    const at = this.positionIn(lane);
    const next = at < 0 ? this.firstInSight(stops) : at + step;
    if (stops[next] === undefined) return;
    this.chosen = stopOf(stops[next]);
    select(this, this.ui.shared, toWhole(this.scene, this.chosen));
    this.bringIntoSight();
    this.ui.changed();
  }

  firstInSight(stops) {
    return Math.max(0, stops.findIndex((number) => spanOfStop(this.scene, stopOf(number))[0] >= this.window.from));
  }

  bringIntoSight() {
    const [start, end] = spanOfStop(this.scene, this.chosen);
    const { from, to } = this.window;
    if (start >= from && end <= to) return;
    const wide = to - from;
    this.setWindow(Math.min(start, (start + end - wide) / 2), Math.min(start, (start + end - wide) / 2) + wide);
  }

  press(event) {
    const wide = this.window.to - this.window.from;
    const actions = {
      "+": () => this.zoom(1 / ZOOM), "=": () => this.zoom(1 / ZOOM), "-": () => this.zoom(ZOOM), Home: () => this.showAll(),
      ArrowLeft: () => this.pan(-PAN * wide), ArrowRight: () => this.pan(PAN * wide),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    swallow(event);
    actions[event.key]();
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? 1 / ZOOM : ZOOM, this.momentAt(event, this.parts.scale));
  }

  zoom(factor, about = (this.window.from + this.window.to) / 2) {
    const { from, to } = this.window;
    const wide = Math.min(Math.max((to - from) * factor, LEAST_WINDOW), this.scene.seconds);
    const begin = about - ((about - from) / (to - from || 1)) * wide;
    this.setWindow(begin, begin + wide);
  }

  pan(seconds) {
    this.setWindow(this.window.from + seconds, this.window.to + seconds);
  }

  showAll() {
    this.setWindow(0, this.scene.seconds);
  }

  // Shows what a device did during some time, or in total, and scrolls to its lane.
  focus({ device, span }) {
    const lane = this.scene.lanes.find(({ name }) => name === device);
    if (span) this.setWindow(span[0] - PAN * (span[1] - span[0]), span[1] + PAN * (span[1] - span[0]));
    if (lane) this.lanes[lane.number].focus();
  }

  // A window of the requested width, moved into the scene.
  setWindow(from, to) {
    const wide = Math.min(to - from, this.scene.seconds);
    const begin = Math.max(0, Math.min(from, this.scene.seconds - wide));
    this.window = { from: begin, to: begin + wide };
    this.ui.changed();
  }

  moveEdge(side, moment) {
    const { from, to } = this.window;
    const inside = Math.max(0, Math.min(moment, this.scene.seconds));
    const edge = side === "from" ? Math.min(inside, to - LEAST_WINDOW) : Math.max(inside, from + LEAST_WINDOW);
    this.window = { ...this.window, [side]: edge };
    this.ui.changed();
  }

  brushFrom(event) {
    swallow(event);
    const first = this.momentAt(event, this.parts.whole);
    followPointer(event, (move) => {
      const second = this.momentAt(move, this.parts.whole);
      if (Math.abs(second - first) > LEAST_WINDOW) this.setWindow(Math.min(first, second), Math.max(first, second));
    });
  }

  momentAt(event, scale) {
    return scale.moment(Math.max(scale.begin, Math.min(event.clientX - this.svg.getBoundingClientRect().left, scale.end)));
  }

  choose(event) {
    const { op, copy } = event.target.dataset || {};
    if (op === undefined && copy === undefined) return;
    this.chosen = op === undefined ? { copy: +copy } : { op: +op };
    select(this, this.ui.shared, toWhole(this.scene, this.chosen));
    this.ui.changed();
  }

  toggleTable() {
    const shown = this.tables.hidden;
    this.tables.hidden = !shown;
    this.time.hidden = shown;
    this.tabular.setAttribute("aria-pressed", String(shown));
    this.ui.changed();
  }

  rows() {
    const { scene } = this;
    const said = WORDS.timeline;
    const { start, seconds } = scene.ops;
    const seen = scene.lanes.flatMap((lane) => {
      const [first, last] = opsIn(scene, lane, this.window);
      return Array.from({ length: last - first }, (_, at) => ({ op: first + at, lane })).filter(({ op }) => !opIsFolded(scene, op));
    });
    const rows = seen.slice(0, MOST_ROWS).map(({ op, lane }) => {
      const fact = factOf(scene, op);
      return [fact.op, lane.name, durationWords(start[op]), durationWords(seconds[op]), fact.shape, fact.why, scene.lines[fact.site]];
    });
    const columns = [said.op, said.device, { label: said.start, number: true }, { label: said.time, number: true }, said.shape, said.reason, said.code];
    const left = seen.length - rows.length;
    return { caption: said.title, columns, rows, notes: left ? [fill(said.moreRows, { n: left })] : [] };
  }
}

function isOpOf(scene, lane, op) {
  return scene.lanes[lane].first <= op && op < scene.lanes[lane].last && !opIsFolded(scene, op);
}

function sliderAt(element, value, most, words) {
  for (const [name, figure] of Object.entries({ min: 0, max: most, now: value, text: words })) element.setAttribute(`aria-value${name}`, figure);
}

function setBox(element, left, top, width, height) {
  for (const [name, px] of Object.entries({ left, top, width, height })) element.style[name] = `${px}px`;
}

// Calls back while a pressed pointer moves.
function followPointer(event, move) {
  const element = event.currentTarget;
  element.setPointerCapture(event.pointerId);
  element.addEventListener("pointermove", move);
  const end = () => element.removeEventListener("pointermove", move);
  for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, end, { once: true });
}

function swallow(event) {
  event.preventDefault();
  event.stopPropagation();
}
