// Makes the timeline interactive, with pointer, wheel and keys: what is in sight, a range with its sums, and the chosen op or
// copy, which describes itself.

import { focusedBeside, h, put } from "./dom.js";
import { LaneScroll } from "./lane_scroll.js";
import { secondsAt } from "./moment.js";
import { drawPicture, drawing } from "./picture.js";
import { SearchBox } from "./search_box.js";
import { makerOf, newSelection, select } from "./selection.js";
import { table } from "./table.js";
import { HANDLE_WIDTH, TimeRange } from "./time_range.js";
import { durationWords } from "./time_scale.js";
import { LEAST_WINDOW, TimeWindow } from "./time_window.js";
import { dragHandle, followPointer, setBox, sliderAt, swallow } from "./drag_handle.js";
import { detailSentence, timeline } from "./timeline.js";
import { isAt, laneOf, locationOf, sameStop, spanOfStop, stopAt, stopIndex, stopOf, stopsOf, timelineScene } from "./timeline_scene.js";
import { rowsOfWindow } from "./timeline_table.js";
import { matchBeside } from "./timeline_search.js";
import { WORDS, fill, listed } from "./words.js";

const HOST_TIME = "hostTime"; // the name of the host's clock
const ZOOM = 1.5;
const PAN = 0.1;
const DRAG = 4; // px that a pressed pointer moves before it selects a range instead of an op
const MOST_OF_PAGE = 0.8; // of the page's height: how far the description of an op may be from it
const FINE_ENOUGH = 0.5; // minimum share of a window that is known exactly; below it, more data is requested
const MOST_LENGTHS = 200; // lengths of a match in sight: twice as many, and data might be too coarse for it, see FINE_ENOUGH
const ASK_AFTER = 100; // milliseconds, so that a drag sends one request

export const timelineView = {
  name: "timeline",
  title: () => WORDS.timeline.title,
  create: (root, data, ui) => new TimelineView(root, data, ui),
};

class TimelineView {
  constructor(root, data, ui) {
    this.ui = ui;
    this.svg = drawing();
    this.stage = h("div", null);
    this.foot = h("div", { class: "nbtf-time-foot", "aria-hidden": "true" });
    this.cursor = h("div", { class: "nbtf-time-cursor", "aria-hidden": "true", hidden: "" });
    this.clocks = [timelineScene(data), ...(data.hostTime?.ops ? [timelineScene(data.hostTime)] : [])];
    this.hasHostTime = Boolean(data.hostTime);
    this.build(root);
    this.useScene(this.clocks[0]);
  }

  get search() {
    return this.searchBox.search;
  }

  // Shows a scene in total: all of its time and its first lanes.
  useScene(scene) {
    this.chosen = this.scene && this.chosen ? sameStop(this.scene, this.chosen, scene) : scene.longest;
    this.scene = this.ui.shared.scene = scene;
    this.window = new TimeWindow(scene.seconds, this.ui.changed);
    this.range.reset(scene, this.window);
    this.searchBox.renew(scene);
    this.scroll = new LaneScroll(scene, this.ui.changed);
    this.lanes = scene.lanes.map((lane) => this.laneStop(lane));
    if (this.stage.contains(focusedBeside(this.stage))) this.time.focus(); // keys must not fall back to the notebook
    this.stage.replaceChildren(...this.scroll.inOrder(this.lanes), this.scroll.node);
  }

  // Changes between the clock of the devices and that of the host, which the kernel draws on request if the recording is long.
  changeClock() {
    const [devices, host] = this.clocks;
    if (this.scene !== devices || host) return this.useClock(this.scene === devices ? host : devices);
    if (this.asksForClock || !this.ui.ask) return;
    this.asksForClock = true;
    this.ui.ask({ what: "timeline", clock: HOST_TIME, from: 0, to: Number.MAX_VALUE }).then((data) => {
      this.clocks[1] = timelineScene(data);
      this.useClock(this.clocks[1]);
    }, () => {}).finally(() => (this.asksForClock = false));
  }

  useClock(scene) {
    this.useScene(scene);
    this.hostTime.setAttribute("aria-pressed", String(scene.clock === HOST_TIME));
    this.ui.changed();
  }

  build(root) {
    const said = WORDS.timeline;
    const tool = (label, title, onclick, rest = {}) => h("button", { type: "button", title, "aria-label": title, onclick, ...rest }, label);
    this.tabular = tool(said.table, said.table, () => this.toggleTable(), { "aria-pressed": "false" });
    const tools = [
      tool("+", said.zoomIn, () => this.window.zoom(1 / ZOOM)), tool("−", said.zoomOut, () => this.window.zoom(ZOOM)),
      tool(said.whole, said.whole, () => this.window.showAll()), tool("⇿", said.selectRange, () => this.selectChosen()),
    ];
    this.overview = h("div", { class: "nbtf-time-overview", onpointerdown: (event) => this.brushFrom(event) });
    this.brush = h("div", { class: "nbtf-time-brush" });
    this.handles = ["from", "to"].map((side) => this.windowEdge(side));
    this.searchBox = new SearchBox({ changed: this.ui.changed, go: (way) => this.goToMatch(way), ask: this.ui.ask });
    this.range = new TimeRange({
      changed: this.ui.changed, step: () => PAN * this.window.wide, momentAt: (event) => this.momentAt(event, this.parts.scale),
      zoom: () => this.zoomToRange(), ask: this.ui.ask,
    });
    this.hostTime = tool(said.hostTime, said.hostTime, () => this.changeClock(), { "aria-pressed": "false", title: said.hostHonest });
    this.hostTime.hidden = !this.hasHostTime;
    this.time = h(
      "div",
      { class: "nbtf-time", role: "group", tabindex: "-1", "aria-label": said.title, onclick: (event) => this.choose(event), onpointerdown: (event) => this.dragFrom(event) },
      this.svg, this.overview, this.brush, this.handles, this.stage, this.foot, this.cursor, this.range.panel.area, this.range.handles,
    );
    this.time.addEventListener("pointermove", (event) => (this.pointer = event.clientX));
    this.time.addEventListener("pointerleave", () => (this.pointer = null));
    this.time.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.tables = h("div", { class: "nbtf-tables", hidden: "" });
    this.span = h("span", { class: "nbtf-time-span" });
    root.append(h("div", { class: "nbtf-tools" }, tools, this.hostTime, this.tabular, this.searchBox.field, this.searchBox.buttons, this.span), this.time, this.range.panel.panel, h("p", { class: "nbtf-plane-keys" }, said.keys), this.tables);
    root.addEventListener("keydown", (event) => this.press(event));
  }

  // Chooses the next match in a direction.
  goToMatch(way) {
    const lane = this.search && this.scroll.named(this.search.text, way);
    if (lane) return this.goToLane(lane.number);
    if (this.search && this.searchBox.asksKernel) return this.requestMatch(way);
    if (!this.search?.matches.length) return;
    this.chooseStop(matchBeside(this.scene, this.search, this.chosen, this.window.from, way));
  }

  // Shows the next match in all of a long recording, so near that it is drawn individually.
  async requestMatch(way) {
    const { whole } = this.search;
    const after = whole && isAt(this.scene, this.chosen, whole) ? whole.at : undefined;
    const match = await this.searchBox.request({ way, after, moment: this.window.from });
    if (!match) return;
    const [middle, wide] = [match.start + match.seconds / 2, Math.min(this.window.wide, Math.max(LEAST_WINDOW, MOST_LENGTHS * match.seconds))];
    this.match = match;
    this.scroll.bring(match.lane);
    this.window.show(middle - wide / 2, middle + wide / 2);
    this.chooseMatch();
  }

  // Chooses the match that was searched for, once the page has it.
  chooseMatch() {
    const stop = this.match && stopAt(this.scene, this.match);
    if (!stop) return;
    this.match = null;
    this.chooseStop(stop);
  }

  windowEdge(side) {
    const name = WORDS.timeline[side === "from" ? "windowBegin" : "windowEnd"];
    const move = (moment) => this.window.moveEdge(side, moment);
    return dragHandle(name, () => this.window[side], () => PAN * this.window.wide, move, (event) => this.momentAt(event, this.parts.whole));
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

  // Brings a lane into sight, and the focus onto it.
  goToLane(number) {
    this.scroll.bring(number);
    this.laneToFocus = number;
    this.ui.changed();
  }

  // Brings the moment that another view shows into sight.
  takeMoment() {
    const { moment } = this.ui.shared;
    if (!moment || this.moment === moment) return;
    this.moment = moment;
    const at = secondsAt(this.scene, moment.seq);
    if (at !== null && !this.window.has(at)) this.window.centre(at);
  }

  placeCursor() {
    const { rows, scale } = this.parts;
    const at = this.moment ? secondsAt(this.scene, this.moment.seq) : null;
    this.cursor.hidden = at === null || at < scale.from || at > scale.to || !rows.length;
    if (this.cursor.hidden) return;
    const last = rows.at(-1);
    setBox(this.cursor, scale.inside(at) - 1, rows[0].y - 8, 2, last.y + last.height - rows[0].y + 16);
  }

  // Moves all views to the moment of the chosen op or copy.
  shareChosen() {
    select(this, this.ui.shared, this.chosen);
    const { op, copy } = this.chosen;
    const seq = op === undefined ? this.scene.copies.seq?.[copy] : this.scene.ops.seq?.[op];
    if (seq === undefined) return;
    this.ui.moveTo(seq);
    this.moment = this.ui.shared.moment;
  }

  // Shows the op that another view has selected.
  takeSelection() {
    const selection = newSelection(this, this.ui.shared);
    const chosen = selection?.piece ? makerOf(this.scene, selection) : null;
    if (!chosen) return;
    this.chosen = chosen;
    this.bringIntoSight();
  }

  draw(width) {
    this.takeMoment();
    this.takeSelection();
    if (!this.tables.hidden) return this.tables.replaceChildren(table(rowsOfWindow(this.search?.scene ?? this.scene, this.window)));
    const { from, to } = this.window;
    const picture = timeline(this.scene, { from, to, chosen: this.chosen, found: this.search?.scene, rows: this.scroll.inSight, fine: true }, width, WORDS.timeline);
    this.parts = picture.parts;
    drawPicture(this.svg, picture);
    this.time.setAttribute("aria-label", picture.title);
    this.saySpan();
    this.placeBrush();
    this.range.place(this.parts);
    this.placeCursor();
    this.askForDetail();
    const places = new Map(this.parts.lanes.map((lane) => [lane.number, lane]));
    this.lanes.forEach((element, number) => this.placeLane(element, number, places.get(number)));
    this.scroll.place(this.parts);
    this.showDetail();
    const { laneToFocus } = this;
    this.laneToFocus = null;
    if (laneToFocus !== null && laneToFocus !== undefined) this.lanes[laneToFocus].focus();
  }

  // Scrolls to the description of an op that was just pressed, unless that would scroll the op out of sight.
  showDetail() {
    setBox(this.foot, 0, this.parts.foot[0], 1, this.parts.foot[1]);
    const { pressedAt } = this;
    this.pressedAt = null;
    if (pressedAt && this.foot.getBoundingClientRect().bottom - pressedAt < MOST_OF_PAGE * window.innerHeight) this.foot.scrollIntoView({ block: "nearest" });
  }

  // Which part is visible, and how much of it only as density.
  saySpan() {
    const said = WORDS.timeline;
    const span = fill(said.shown, { from: durationWords(this.window.from), to: durationWords(this.window.to) });
    const dense = this.parts.dense + (this.scene.detail?.summed ?? 0);
    put(this.span, listed([...this.searchBox.words(this.chosen), span, ...(dense ? [fill(said.density, { n: dense })] : [])]));
  }

  // A page has the visible part of a long recording, and columns for the rest; it requests more when those are too coarse.
  askForDetail() {
    const { scene } = this;
    const { detail } = scene;
    const { from, to } = this.window;
    if (!detail || this.asked || !this.ui.ask) return;
    const areKnown = this.parts.rows.every(({ number, isGroup }) => detail[isGroup ? "groups" : "lanes"].includes(number));
    const isInside = areKnown && from >= detail.from && to <= detail.to;
    if (isInside && (!detail.summed || to - from > FINE_ENOUGH * (detail.to - detail.from))) return;
    this.asked = true;
    setTimeout(() => {
      const [lanes, groups] = [this.parts.lanes, this.parts.rows.filter(({ isGroup }) => isGroup)].map((rows) => rows.map(({ number }) => number));
      this.ui.ask({ what: "timeline", clock: scene.clock, from: this.window.from, to: this.window.to, lanes, groups }).then((data) => this.scene === scene && this.renew(data), () => {}).finally(() => (this.asked = false));
    }, ASK_AFTER);
  }

  // Accepts more exact data of the same recording; the selection is kept, or becomes a match that this data has.
  renew(data) {
    const place = this.chosen && locationOf(this.scene, this.chosen);
    const scene = timelineScene(data);
    this.clocks = this.clocks.map((each) => (each === this.scene ? scene : each));
    this.scene = this.ui.shared.scene = scene;
    this.range.renew(scene);
    this.searchBox.renew(scene);
    this.chosen = (place && stopAt(scene, place)) ?? scene.longest;
    this.chooseMatch();
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

  placeLane(element, number, lane) {
    if (element.hidden !== !lane) element.hidden = !lane;
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
    if (stops[next] !== undefined) this.chooseStop(stopOf(stops[next]));
  }

  chooseStop(stop) {
    this.chosen = stop;
    this.shareChosen();
    this.bringIntoSight();
    this.ui.changed();
  }

  firstInSight(stops) {
    return Math.max(0, stops.findIndex((number) => spanOfStop(this.scene, stopOf(number))[0] >= this.window.from));
  }

  bringIntoSight() {
    const [start, end] = spanOfStop(this.scene, this.chosen);
    const { window } = this;
    this.scroll.bring(laneOf(this.scene, this.chosen));
    if (start >= window.from && end <= window.to) return;
    const begin = Math.min(start, (start + end - window.wide) / 2);
    window.show(begin, begin + window.wide);
  }

  press(event) {
    const { window, range, searchBox } = this;
    if (event.target === searchBox.field || event.target === this.scroll.node || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = PAN * window.wide;
    const nearer = () => window.zoom(1 / ZOOM, this.pointedMoment());
    const farther = () => window.zoom(ZOOM, this.pointedMoment());
    const [back, on] = [() => window.pan(-step), () => window.pan(step)];
    const actions = {
      "+": nearer, "=": nearer, "-": farther, w: nearer, s: farther, a: back, d: on, Home: () => window.showAll(),
      ArrowUp: nearer, ArrowDown: farther, ArrowLeft: back, ArrowRight: on,
      "shift+ArrowLeft": () => this.extendRange(-step), "shift+ArrowRight": () => this.extendRange(step),
      m: () => this.selectChosen(), h: () => this.hasHostTime && this.changeClock(), f: () => this.zoomToRange(), "/": () => searchBox.field.focus(),
    };
    if (range.span) actions.Escape = () => range.select(null);
    else if (this.search) actions.Escape = () => searchBox.clear();
    if (this.search) actions.n = () => this.goToMatch(event.shiftKey ? -1 : 1);
    const key = event.key.length === 1 ? event.key.toLowerCase() : `${event.shiftKey ? "shift+" : ""}${event.key}`;
    if (!actions[key] || (this.time.hidden && key !== "/")) return;
    swallow(event);
    actions[key]();
  }

  // The moment below the pointer, about which keys zoom.
  pointedMoment() {
    return this.pointer === null || this.pointer === undefined ? undefined : this.momentAt({ clientX: this.pointer }, this.parts.scale);
  }

  wheel(event) {
    const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!event.ctrlKey && !event.shiftKey && Math.abs(across) <= Math.abs(event.deltaY)) return this.scroll.wheel(event);
    event.preventDefault();
    if (event.ctrlKey) this.window.zoom(event.deltaY < 0 ? 1 / ZOOM : ZOOM, this.momentAt(event, this.parts.scale));
    else this.window.pan(across / this.parts.scale.rate);
  }

  // Shows what a device did during some time, or in total, and scrolls to its lane.
  focus({ device, span }) {
    const lane = this.scene.lanes.find(({ name }) => name === device);
    if (span) this.window.show(span[0] - PAN * (span[1] - span[0]), span[1] + PAN * (span[1] - span[0]));
    if (lane) this.goToLane(lane.number);
  }

  brushFrom(event) {
    swallow(event);
    const first = this.momentAt(event, this.parts.whole);
    followPointer(event, (move) => {
      const second = this.momentAt(move, this.parts.whole);
      if (Math.abs(second - first) > LEAST_WINDOW) this.window.show(Math.min(first, second), Math.max(first, second));
    });
  }

  // Pressing the lanes and moving selects the range in between.
  dragFrom(event) {
    this.dragged = false;
    const { rows, scale } = this.parts;
    const box = this.svg.getBoundingClientRect();
    const [x, y, last] = [event.clientX - box.left, event.clientY - box.top, rows.at(-1)];
    if (event.button || !last || x < scale.begin || x > scale.end || y < rows[0].y || y > last.y + last.height) return;
    const first = this.momentAt(event, scale);
    const drag = (move) => {
      this.dragged ||= Math.abs(move.clientX - event.clientX) >= DRAG;
      if (!this.dragged) return;
      this.time.setPointerCapture(move.pointerId);
      this.range.select({ from: first, to: this.momentAt(move, this.parts.scale) });
    };
    followPointer(event, drag, false);
  }

  // Selects the time of the chosen op or copy, or what is in sight.
  selectChosen() {
    const [from, to] = this.chosen ? spanOfStop(this.scene, this.chosen) : [0, 0];
    this.range.select(to > from ? { from, to } : this.window);
  }

  extendRange(seconds) {
    if (!this.range.span) this.selectChosen();
    this.range.extend(seconds);
  }

  // Zooms to the selected range, or to the chosen op or copy.
  zoomToRange() {
    if (!this.range.span) this.selectChosen();
    const { from, to } = this.range.span;
    if (to - from >= LEAST_WINDOW) this.window.show(from, to);
  }

  momentAt(event, scale) {
    return scale.moment(Math.max(scale.begin, Math.min(event.clientX - this.svg.getBoundingClientRect().left, scale.end)));
  }

  choose(event) {
    const { op, copy } = event.target.dataset || {};
    if (this.dragged || (op === undefined && copy === undefined)) return;
    this.chosen = op === undefined ? { copy: +copy } : { op: +op };
    this.pressedAt = event.clientY;
    this.shareChosen();
    this.ui.changed();
  }

  toggleTable() {
    const shown = this.tables.hidden;
    this.tables.hidden = !shown;
    this.time.hidden = shown;
    this.tabular.setAttribute("aria-pressed", String(shown));
    this.ui.changed();
  }
}
