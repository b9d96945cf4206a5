// The device map: where every op ran and why, what was copied, and how full each device is.
//
// It shows the still's picture, with a button over each room that opens the room's exact figures.

import { makeDeviceRows } from "./device_rows.js";
import { attr, bytes, h, keyed, put, rove } from "./dom.js";
import { makeHeartbeats } from "./heartbeat.js";
import { hostFlow, hostOfDevice } from "./map_flows.js";
import { mapFacts } from "./map_facts.js";
import { mapPicture } from "./map_picture.js";
import { mapTables } from "./map_tables.js";
import { drawPicture, drawing, rectangle } from "./picture.js";
import { copiesText, kindOf, makeRoom, roomSentence, updateRoom } from "./room.js";
import { sceneAt } from "./scene.js";
import { makeStepList, updateStepList } from "./step_list.js";
import { makeStrip } from "./strip.js";
import { WORDS, fill, listed } from "./words.js";

const FIRST_WIDTH = 640; // until the page has laid out the view

export const deviceMap = {
  kind: "map",
  get title() {
    return WORDS.map.title;
  },
  get shortTitle() {
    return WORDS.rows.title;
  },

  heartbeats: makeHeartbeats(), // shared by all elements that show the model: each model has its own copy of the program

  create(root, ui) {
    Object.assign(this, { ui, drawnMarks: new Map() });
    ui.chosen.open = new Set();
    this.svg = drawing();
    this.svg.addEventListener("click", ({ target }) => {
      this.flow = target.closest("[data-from]")?.dataset;
      this.showFlow();
    });
    this.said = h("p", { class: "nbtf-legend", role: "status" });
    this.doors = h("div", { class: "nbtf-doors" });
    this.stage = h("div", { class: "nbtf-stage", role: "group", "aria-label": WORDS.map.rooms }, this.svg, this.doors);
    this.notes = h("div", { class: "nbtf-cards" });
    this.opened = h("div", { class: "nbtf-opened-rooms" });
    this.list = makeStepList(ui.chosen, (i) => ui.go(i), ui.changed);
    this.reach = rove(this.doors, ".nbtf-door");
    this.sizes = new ResizeObserver(ui.changed);
    this.sizes.observe(this.stage);
    this.honest = h("p", { class: "nbtf-legend" }, WORDS.map.legendSimulated);
    this.rows = makeDeviceRows(ui, this.heartbeats);
    this.whole = h("div", { class: "nbtf-whole" }, this.stage, this.said, this.notes, this.honest, this.opened, this.list);
    root.append(this.rows, this.whole);
  },

  heard(state) {
    this.heartbeats.hear(state);
  },

  makeStrip(toggle) {
    return makeStrip(this.heartbeats, this.shortTitle, toggle, this.ui.changed);
  },

  dispose() {
    this.sizes.disconnect();
  },

  update(state, position) {
    const scene = sceneAt(state, position);
    const docked = this.ui.docked();
    this.rows.hidden = !docked;
    this.whole.hidden = docked;
    if (docked) return this.rows.update(state, scene, position);
    this.draw(scene, state);
    this.showNotes(scene);
    this.showOpened(scene);
    this.honest.hidden = !state.devices.some((device) => device.kind === "simulated");
    updateStepList(this.list, state, position, this.ui.chosen.filter);
    this.reach();
  },

  // Marks that have not changed keep their elements, so unchanged rooms are not touched.
  draw(scene, state) {
    this.facts = { ...mapFacts(scene, state), open: this.ui.chosen.open };
    this.showFlow();
    const picture = mapPicture(this.facts, this.stage.clientWidth || FIRST_WIDTH, true);
    const paper = rectangle(0, 0, picture.width, picture.height, "paper");
    const marks = new Map([paper, ...picture.marks].map((mark) => [JSON.stringify(mark), mark]));
    for (const key of marks.keys()) if (this.drawnMarks.has(key)) marks.set(key, this.drawnMarks.get(key));
    this.drawnMarks = marks;
    drawPicture(this.svg, { ...picture, marks: [...marks.values()], clear: true });
    const hosts = [...picture.hosts].map(([name, { box, title }]) => ({ name, device: { kind: "host" }, box, title }));
    const rooms = [...hosts, ...scene.rooms.filter((room) => picture.rooms.has(room.name))];
    keyed(this.doors, rooms, (room) => room.name, (room) => this.makeDoor(room), (node, room) => this.fillDoor(node, room, scene, picture));
  },

  // Shows the ends of the clicked arrow, its number of copies and its bytes.
  showFlow() {
    const { facts, flow } = this;
    const [host] = facts.hosts;
    const end = (name) => (name === "host" ? host?.name : name);
    const total = flow && (flow.from === "host" || flow.to === "host")
      ? hostFlow(facts, flow.from === "host" ? flow.to : flow.from, flow.to === "host")
      : facts.flows.find(({ source, target }) => source === flow?.from && target === flow?.to);
    this.said.hidden = !total?.copies;
    if (total?.copies) put(this.said, `${end(flow.from)} → ${end(flow.to)}: ${copiesText(total.copies, bytes(total.nbytes))}`);
  },

  makeDoor({ name, device }) {
    const door = h("button", { type: "button", class: "nbtf-door", tabindex: "-1", onclick: () => this.toggle(name) });
    return h("section", { class: "nbtf-place-of nbtf-room", "data-device": name, "data-kind": device.kind }, door);
  },

  fillDoor(node, room, scene, { rooms, width, height }) {
    const [x, y, across, down] = room.box ?? rooms.get(room.name);
    const sides = { left: x / width, top: y / height, width: across / width, height: down / height };
    attr(node, "style", Object.entries(sides).map(([side, part]) => `${side}: ${(100 * part).toFixed(3)}%`).join("; "));
    attr(node, "data-now", scene.step && scene.step.kind !== 1 && scene.step.device === room.name ? "" : null);
    attr(node.firstChild, "aria-label", room.title ?? roomSentence(room, scene.step));
    attr(node.firstChild, "aria-expanded", String(this.ui.chosen.open.has(room.name)));
  },

  toggle(name) {
    const { open } = this.ui.chosen;
    if (!open.delete(name)) open.add(name);
    this.ui.changed();
  },

  // Lists cards with several logical GPUs, and devices that were requested but do not exist.
  showNotes(scene) {
    const cards = cardsOf(scene.rooms).map((rooms) => ({ key: rooms[0].name, names: rooms.map((room) => room.name), device: rooms[0].device }));
    const ghosts = scene.ghosts.map((ghost) => ({ key: `ghost ${ghost.name}`, ghost }));
    keyed(this.notes, [...cards, ...ghosts], (note) => note.key, makeNote, fillNote);
  },

  showOpened(scene) {
    const host = scene.rooms.find((room) => room.device.kind === "host")?.name;
    const show = { host, replayed: scene.step, all: scene.copies, narrow: true, lines: 8, sends: 8, open: true };
    const rooms = scene.rooms.filter((room) => this.ui.chosen.open.has(room.name));
    keyed(this.opened, rooms, (room) => room.name, (room) => makeRoom(room.device, (name) => this.toggle(name)), (node, room) => updateRoom(node, room, show));
  },

  tables: mapTables,

  say(state, position, kind, badge) {
    const busiest = [...state.devices].sort((a, b) => b.ops - a.ops).slice(0, 2)
      .map((one) => fill(WORDS.map.sayDevice, { name: one.name, n: one.ops }));
    const told = fill(WORDS.map.say, { heard: state.heard, ops: state.ops, busiest: listed(busiest) });
    return fill(WORDS.frame.status, { title: this.title, badge, text: told });
  },
};

function cardsOf(rooms) {
  const cards = new Map();
  for (const room of rooms) {
    const card = `${hostOfDevice(room.name)} ${room.device.card ?? room.name}`; // each host numbers its cards from 0
    if (!cards.has(card)) cards.set(card, []);
    cards.get(card).push(room);
  }
  return [...cards.values()].filter((several) => several.length > 1);
}

function makeNote({ ghost }) {
  if (ghost) return h("div", { class: "nbtf-ghost", role: "group", "aria-label": ghost.name }, h("p", { class: "nbtf-name" }), h("p", { class: "nbtf-runs" }));
  return h("p", { class: "nbtf-card-name" });
}

function fillNote(node, { names, device, ghost }) {
  if (!ghost) {
    const card = fill(WORDS.map.card, { n: names.length, model: kindOf(device), memory: bytes(device.card_memory) });
    return put(node, `${listed(names)}: ${card}`);
  }
  put(node.firstChild, fill(WORDS.map.ghost, { name: ghost.name }));
  put(node.lastChild, ghost.runs.map((run) => fill(run.n > 1 ? WORDS.map.ghostRanOften : WORDS.map.ghostRan, run)).join(WORDS.frame.semicolon));
}
