// The device map: where every op ran and why, what was copied, how full each device is.

import { makeArcs, makeLanes, travelArc, travelLane, updateArcs, updateLanes } from "./arrows.js";
import { makeDeviceRows } from "./device_rows.js";
import { attr, bytes, h, keyed, put, rove } from "./dom.js";
import { mapTables } from "./map_tables.js";
import { kindOf, makeRoom, updateRoom } from "./room.js";
import { sceneAt } from "./scene.js";
import { makeStepList, updateStepList } from "./step_list.js";
import { WORDS, fill, listed } from "./words.js";

const ARCS_WIDTH = { wide: 68, medium: 48, narrow: 0 }; // as in device_map.css
const MANY = 5; // from 6 GPUs on rooms are lower, so that 8 of them fit on a screen

export const deviceMap = {
  kind: "map",
  get title() {
    return WORDS.map.title;
  },
  get shortTitle() {
    return WORDS.rows.title;
  },

  create(root, ui) {
    Object.assign(this, { ui, rooms: new Map(), before: null, focus: null, drawn: false });
    ui.chosen.open = new Set();
    this.host = h("div", { class: "nbtf-hosts" });
    this.cards = h("div", { class: "nbtf-cards" });
    this.arcs = makeArcs();
    this.stage = h("div", { class: "nbtf-stage", role: "group", "aria-label": WORDS.map.rooms }, this.host, this.cards, this.arcs);
    this.list = makeStepList(ui.chosen, (i) => ui.go(i), ui.changed);
    this.reach = rove(this.stage, ".nbtf-door");
    for (const kind of ["focusin", "focusout", "pointerover", "pointerleave"]) {
      this.stage.addEventListener(kind, (event) => this.point(event));
    }
    this.sizes = new ResizeObserver(() => {
      this.places = null;
      ui.changed();
    });
    this.sizes.observe(this.cards);
    this.legend = legend();
    this.rows = makeDeviceRows(ui);
    this.whole = h("div", { class: "nbtf-whole" }, this.stage, this.legend, this.list);
    root.append(this.rows, this.whole);
  },

  heard(state) {
    this.rows.heard(state);
  },

  dispose() {
    this.sizes.disconnect();
  },

  // Arcs of the room that is pointed at or focused stand out among many.
  point(event) {
    const room = ["focusout", "pointerleave"].includes(event.type) ? null : event.target.closest(".nbtf-room");
    const name = room ? room.dataset.device : null;
    if (name !== this.focus) (this.focus = name), this.ui.changed();
  },

  update(state, position) {
    const scene = sceneAt(state, position);
    const docked = this.ui.docked();
    this.rows.hidden = !docked;
    this.whole.hidden = docked;
    if (docked) return this.rows.update(state, scene);
    const show = this.shown(state, scene, position);
    const [hosts, others] = [scene.rooms.filter(isHost), scene.rooms.filter((room) => !isHost(room))];
    keyed(this.host, hosts, (room) => room.name, (room) => this.newRoom(room), (node, room) => this.fillRoom(node, room, show));
    const cards = [...cardsOf(others), ...scene.ghosts.map((ghost) => ({ key: `ghost ${ghost.name}`, ghost }))];
    keyed(this.cards, cards, (card) => card.key, makeCard, (node, card) => this.fillCard(node, card, show));
    attr(this.stage, "data-devices", others.length > MANY ? "many" : others.length ? "few" : "none");
    attr(this.stage, "data-arcs", show.betweenGpus ? "" : null);
    this.stage.style.setProperty("--nbtf-lines", show.lines);
    this.legend.lastChild.hidden = !state.devices.some((device) => device.kind === "simulated");
    this.legend.hidden = !others.length;
    this.drawArcs(show);
    updateStepList(this.list, state, position, this.ui.chosen.filter);
    this.reach();
    this.travel(scene.step, position, show);
    this.before = position;
  },

  shown(state, scene, position) {
    const gpus = scene.rooms.filter((room) => !isHost(room));
    const host = scene.rooms.find(isHost)?.name;
    const many = gpus.length > MANY;
    const most = Math.max(1, ...state.devices.map((device) => device.counts.length));
    return {
      host, replayed: scene.step, all: scene.copies, narrow: this.ui.narrow(), arcsWidth: ARCS_WIDTH[this.ui.width()], focus: this.focus,
      lines: many ? 2 : Math.max(2, Math.min(3, most)),
      sends: many ? 1 : 2,
      betweenGpus: state.copies.some(([from, to]) => from !== host && to !== host),
      flash: this.drawn && !this.ui.still() && (position === null ? this.before === null : position === this.before + 1),
    };
  },

  newRoom(room) {
    const open = this.ui.chosen.open;
    const node = makeRoom(room.device, (name) => {
      if (!open.delete(name)) open.add(name);
      this.ui.changed();
    });
    this.rooms.set(room.name, node);
    return node;
  },

  fillRoom(node, room, show) {
    updateRoom(node, room, { ...show, open: this.ui.chosen.open.has(room.name) });
  },

  fillCard(node, card, show) {
    if (card.ghost) return fillGhost(node, card.ghost);
    const { device } = card.rooms[0];
    const many = card.rooms.length > 1;
    attr(node, "data-many", many ? "" : null);
    put(node.children[1], many ? fill(WORDS.map.card, { n: card.rooms.length, model: kindOf(device), memory: bytes(device.card_memory) }) : "");
    keyed(node.lastChild, card.rooms, (room) => room.name,
      (room) => h("div", { class: "nbtf-place-of" }, makeLanes(), this.newRoom(room)),
      (place, room) => {
        updateLanes(place.firstChild, room.name, show.host, show);
        this.fillRoom(place.lastChild, room, show);
      });
  },

  drawArcs(show) {
    this.drawn = true;
    if (show.narrow || !show.betweenGpus) return updateArcs(this.arcs, [], new Map(), 0, show);
    this.places ||= this.measured(show.host);
    updateArcs(this.arcs, show.all, this.places, show.arcsWidth, show);
  },

  // Measuring makes the browser lay out at once, so it is done only after a room changed its size.
  measured(host) {
    const top = this.stage.getBoundingClientRect().top;
    const places = new Map();
    for (const [name, node] of this.rooms) {
      if (name === host || !node.isConnected) continue;
      const box = node.getBoundingClientRect();
      places.set(name, { top: box.top - top, height: box.height });
    }
    return places;
  },

  // A copy that is stepped onto travels; stepping back, scrubbing and reduced motion only mark its arrow.
  travel(step, position, show) {
    if (!step || step.kind !== 1 || this.ui.still() || show.narrow || position === this.before) return;
    if (this.before !== null && position !== this.before + 1) return;
    const gpu = this.rooms.get(step.device === show.host ? step.target : step.device);
    if (step.device !== show.host && step.target !== show.host) travelArc(this.arcs, step.device, step.target);
    else if (gpu) travelLane(gpu.previousSibling, step.device === show.host);
  },

  tables: mapTables,

  say(state, position, kind, badge) {
    const busiest = [...state.devices].sort((a, b) => b.ops - a.ops).slice(0, 2)
      .map((one) => fill(WORDS.map.sayDevice, { name: one.name, n: one.ops }));
    const told = fill(WORDS.map.say, { heard: state.heard, ops: state.ops, busiest: listed(busiest) });
    return fill(WORDS.frame.status, { title: this.title, badge, told });
  },
};

function isHost(room) {
  return room.device.kind === "host";
}

function cardsOf(rooms) {
  const cards = new Map();
  for (const room of rooms) {
    const key = room.device.card ?? room.name;
    if (!cards.has(key)) cards.set(key, { key: `card ${key}`, rooms: [] });
    cards.get(key).rooms.push(room);
  }
  return [...cards.values()];
}

function makeCard(card) {
  if (card.ghost) return h("div", { class: "nbtf-ghost", role: "group", "aria-label": card.ghost.name }, h("p", { class: "nbtf-name" }), h("p", { class: "nbtf-runs" }));
  return h("div", { class: "nbtf-card" }, h("span", { class: "nbtf-card-frame" }), h("p", { class: "nbtf-card-name" }), h("div", { class: "nbtf-places" }));
}

function fillGhost(node, { name, runs }) {
  put(node.firstChild, fill(WORDS.map.ghost, { name }));
  put(node.lastChild, runs.map((run) => fill(run.n > 1 ? WORDS.map.ghostRanOften : WORDS.map.ghostRan, run)).join(WORDS.frame.semicolon));
}

function legend() {
  const said = WORDS.map;
  const sample = (name, text) => h("span", { class: "nbtf-key" }, h("span", { class: `nbtf-sample nbtf-sample-${name}` }), text);
  return h("p", { class: "nbtf-legend" }, said.legend, sample("used", said.legendInUse), sample("pool", said.legendPool), sample("limit", said.legendLimit),
    h("span", { class: "nbtf-key" }, said.legendSimulated));
}
