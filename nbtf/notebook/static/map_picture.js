// Draws the device map: what ran where, what was copied, which ops ran elsewhere than requested.
//
// The input of `mapPicture(facts, width)` comes from stills/device_map.py:
//   {hosts, cards: [{name, ops: [{op, times, why, asked}], executed, inUse, limit, levels, now}], flows: [{source, target,
//    copies, nbytes}], ops, constants, smallCopies, simulated, path: phrases of stills/reasons.py, now: {source, target}},
// Optional are `executed`, both `now`, `shown` (the op of the displayed step) and `nothing` (the text where no op ran). Each room
// is a group whose data names its device. With `isInside`, the picture is part of a view that has its own title and edge.

import { drawnWay, stepsOf } from "./decision.js";
import { flowed } from "./flow.js";
import { RIBBON, flowsBetween, hostArrows, hostFlow, laidOut, ribbonMarks, shortInCluster, sumOf } from "./map_flows.js";
import { GRID, cellsIn, gridMarks, mostOf, trafficOf, unlikeSentence } from "./map_grid.js";
import { betweenHosts, clusterMarks } from "./map_hosts.js";
import { ROOM, hostMarks, mainOp, reasonWords, roomMarks } from "./map_rooms.js";
import { framed, line, rectangle, text, widthOfText } from "./picture.js";
import { sizeWords } from "./time_scale.js";
import { WORDS, fill, grouped } from "./words.js";

// The numbers of devices up to which there are rooms, compact ones, and rows of them; how many the title describes; in px: the minimum
// width of a room, of a compact one, and of the map, which a page of 320 px leaves.
const MAP = { margin: 16, gap: 12, few: 6, many: 8, most: 16, titled: 64, room: 150, compactRoom: 84, belowHost: 56, narrowest: 288 };
const INSIDE = { edge: 1, descent: 6 }; // px around a picture that is part of a view

// The picture, with the position of each device's room: {width, height, title, marks, rooms: Map of name to [x, y, width, height]}.
export function mapPicture(facts, width, isInside = false) {
  const left = isInside ? INSIDE.edge : MAP.margin;
  const map = { facts, width: isInside ? width : Math.max(width, MAP.narrowest), left, marks: [], y: INSIDE.edge, rooms: new Map() };
  map.right = map.width - left;
  if (!isInside) addMapHead(map);
  const count = facts.cards.length;
  const room = (map.right - map.left + MAP.gap) / Math.max(count, 1) - MAP.gap;
  if (isCluster(facts)) addCluster(map);
  else if (!count) addHosts(map);
  else if (count === 1 || (count <= MAP.few && room >= MAP.room)) addRooms(map, room, false);
  else if (count <= MAP.many && room >= MAP.compactRoom) addRooms(map, room, true);
  else if (count <= MAP.few) addTrunk(map);
  else if (count <= MAP.most) addRows(map);
  else addGrid(map);
  addMapFoot(map);
  const height = Math.round(map.y + Math.max(left, INSIDE.descent));
  const picture = framed(map.width, height, mapTitle(facts), map.marks);
  return { ...picture, marks: isInside ? map.marks : picture.marks, rooms: map.rooms, hosts: map.hosts ?? new Map() };
}

export function mapTitle(facts) {
  const rooms = [...facts.hosts, ...facts.cards].flatMap((device) => {
    const op = mainOp(device);
    return op ? [`${shortInCluster(device.name)}: ${op.op} × ${grouped(op.times)} (${reasonWords(op)})`] : [];
  });
  if (rooms.length > MAP.titled) rooms.splice(MAP.titled, rooms.length, `… ${fill(WORDS.deviceMap.gpus, { n: facts.cards.length })}`);
  return `${WORDS.deviceMap.title}. ${rooms.join("; ") || WORDS.deviceMap.nothing}`;
}

function addFlowed(map, texts, y) {
  const [marks, end] = flowed(texts, map.left, map.right, y);
  map.marks.push(...marks);
  map.y = end;
}

function addMapHead(map) {
  const { facts } = map;
  const said = WORDS.deviceMap;
  const title = facts.cards.length > MAP.many ? fill(said.gpus, { n: facts.cards.length }) : said.title;
  const copies = sumOf(facts.flows, "copies");
  const counts = fill(said.ran, { ops: fill(said.ops, { n: facts.ops }), copies: copiesWords(copies) });
  const honest = said[facts.simulated ? "simulated" : "exact"];
  addFlowed(map, [text(0, 0, title, { size: 15, weight: 650 }), text(0, 0, counts, { fill: "soft" }), text(0, 0, honest, { fill: "soft", required: true })], 28);
  map.y += 14;
}

// Rooms

function addRoom(map, device, sides, marks) {
  map.rooms.set(device.name, sides);
  map.marks.push({ mark: "group", marks, data: { device: device.name } });
}

function addHost(map, host) {
  const sent = sumOf(map.facts.flows.filter((flow) => flow.source === host.name), "nbytes");
  const across = map.right - map.left;
  addRoom(map, host, [map.left, map.y, across, ROOM.host], hostMarks(host, map.left, map.y, across, sent));
  map.y += ROOM.host + 4;
}

function addHosts(map) {
  const { facts } = map;
  for (const host of facts.hosts) addHost(map, host);
  const hasFlows = facts.cards.some((card) => hostFlow(facts, card.name, false).copies || hostFlow(facts, card.name, true).copies);
  if (facts.hosts.length && facts.cards.length) map.y += (hasFlows ? MAP.belowHost : MAP.gap) - 4;
  return map.y;
}

function addRooms(map, room, isCompact) {
  const { facts } = map;
  const begins = new Map(facts.cards.map((card, number) => [card.name, map.left + number * (room + MAP.gap)]));
  const top = addHosts(map);
  const height = isCompact ? ROOM.compact : ROOM.tall;
  const sides = new Map([...begins].map(([name, x]) => [name, [x, x + room]]));
  const flows = flowsBetween(facts).filter((flow) => sides.has(flow.source) && sides.has(flow.target));
  const widest = isCompact ? RIBBON.widestOfMany : RIBBON.widest;
  const { ribbons, bottom } = laidOut(flows, sides, top + height, widestBetween(facts, widest), !isCompact);
  const scale = pxPerByte(facts, widest, ribbons);
  if (facts.hosts.length) for (const card of facts.cards) addHostFlows(map, card, begins.get(card.name), room, top, scale, isCompact);
  map.marks.push(...ribbonMarks(ribbons, top + height, !isCompact, facts.now));
  for (const card of facts.cards) {
    const x = begins.get(card.name);
    addRoom(map, card, [x, top, room, height], roomMarks(card, x, top, room, isCompact));
  }
  map.y = (ribbons.length ? bottom : top + height) + 8;
}

// Compact rooms in rows. Ribbons do not fit between them, so each shows its bytes in and out.
function addRows(map) {
  const { facts } = map;
  map.isSummed = true;
  for (const host of facts.hosts) addHost(map, host);
  const { corners, across, end } = cellsIn(facts.cards.length, map.left, map.y, map.right - map.left, GRID.room, ROOM.compact);
  const traffic = trafficOf(facts);
  const most = Math.max(1, mostOf(facts.cards, traffic));
  facts.cards.forEach((card, at) => {
    const marks = roomMarks(card, ...corners[at], across, true, traffic.get(card.name) / most);
    addRoom(map, card, [...corners[at], across, ROOM.compact], marks);
  });
  map.y = end;
}

function largest(flows) {
  return Math.max(0, ...flows.map((flow) => flow.nbytes));
}

// The width of the largest flow between cards, if the largest flow of all is `widest` wide.
function widestBetween(facts, widest) {
  const [between, most] = [largest(flowsBetween(facts)), largest(facts.flows)];
  return between && most ? (widest * between) / most : widest;
}

// The px per byte, of the ribbons if they were narrowed to fit; a hairline has no scale.
function pxPerByte(facts, widest, ribbons) {
  const most = ribbons.reduce((a, b) => (b.flow.nbytes > a.flow.nbytes ? b : a), { flow: { nbytes: 0 } });
  const scale = widest / (largest(facts.flows) || 1);
  return most.flow.nbytes ? Math.min(scale, most.width / most.flow.nbytes) : scale;
}

function addHostFlows(map, card, x, room, top, scale, isCompact) {
  const { facts } = map;
  const begin = top - MAP.belowHost;
  const flows = { down: hostFlow(facts, card.name, false), up: hostFlow(facts, card.name, true) };
  const wide = { down: Math.max(1, flows.down.nbytes * scale), up: Math.max(1, flows.up.nbytes * scale) };
  const middle = x + room * (isCompact ? 0.5 : 0.25);
  map.marks.push(...hostArrows(facts, card.name, wide, middle, begin, top, facts.now));
  const ways = ["down", "up"].filter((way) => flows[way].copies);
  const end = middle + ways.reduce((sum, way) => sum + wide[way] + 11, 0) - 2;
  const right = x + room + MAP.gap - 2;
  ways.forEach((way, number) => {
    const size = sizeWords(flows[way].nbytes);
    const words = ways.length === 1 && way === "down" ? size : `${way === "down" ? "↓" : "↑"} ${size}`;
    const look = { size: isCompact ? 11 : 13, weight: 650, halo: isCompact };
    const mark = text(isCompact ? x + 2 : end, begin + (ways.length === 1 ? 25 : 20) + 18 * number, words, look);
    if (mark.x + widthOfText(mark) <= right) map.marks.push(mark);
  });
  const count = text(end, begin + 40, copiesWords(flows.down.copies + flows.up.copies), { fill: "soft", size: 11 });
  if (ways.length === 1 && !isCompact && count.x + widthOfText(count) <= right) map.marks.push(count);
}

function copiesWords(count) {
  return fill(WORDS.deviceMap.copies, { n: count });
}

// Rooms below one another, if they do not fit side by side

function addTrunk(map) {
  const { facts } = map;
  const top = map.y;
  addHosts(map);
  const trunk = map.left + 10;
  const begin = top + (facts.hosts.length ? ROOM.host : 0);
  map.y = begin + (facts.hosts.length ? MAP.gap : 0);
  let stop = begin;
  for (const card of facts.cards) stop = addBranch(map, card, trunk);
  if (facts.hosts.length) map.marks.splice(0, 0, line(trunk, begin, trunk, stop, { stroke: "cpy", width: 2 }));
}

// Draws a room as a row beside the trunk; returns the y coordinate of its branch.
function addBranch(map, card, trunk) {
  const { facts } = map;
  const [top, x, inside, right] = [map.y, trunk + 18, trunk + 30, map.right - 12];
  const [marks, y] = flowed(branchTexts(facts, card), inside, right, top + 20);
  const edge = card.now ? { stroke: "focus", strokeWidth: 2 } : { stroke: "hair2" };
  const sides = [x, top, map.right - x, y - top + 12];
  addRoom(map, card, sides, [rectangle(x + 0.5, top + 0.5, map.right - x - 1, y - top + 11, "paper", { ...edge, radius: 8 }), ...marks]);
  if (facts.hosts.length) map.marks.push(line(trunk, top + 20, x - 1, top + 20, { stroke: "cpy", width: 2, arrow: true }));
  map.y = y + 12 + MAP.gap - 4;
  return top + 20;
}

function branchTexts(facts, card) {
  const said = WORDS.deviceMap;
  const op = mainOp(card);
  const texts = [text(0, 0, card.name, { size: 13, weight: 650 })];
  if (card.now) texts.push(text(0, 0, said.now, { fill: "focus", size: 11, weight: 650 }));
  if (op) {
    const words = op.times > 1 ? `${op.op} × ${grouped(op.times)}` : op.op;
    texts.push(text(0, 0, words, { size: 13, weight: 650, mono: true }), text(0, 0, reasonWords(op), { fill: op.asked ? "soft" : "hot" }));
  } else texts.push(text(0, 0, card.nothing ?? said.nothing, { fill: "soft" }));
  if (card.lost) texts.push(text(0, 0, WORDS.deviceMap.lost, { fill: "hot", weight: 650 }));
  else if (card.inUse !== null) texts.push(text(0, 0, sizeWords(card.inUse), { size: 11, weight: 600 }));
  for (const [arrow, upward] of [["↓", false], ["↑", true]]) {
    const flow = hostFlow(facts, card.name, upward);
    if (flow.copies) texts.push(text(0, 0, `${arrow} ${sizeWords(flow.nbytes)}`, { size: 11 }));
  }
  const sent = flowsBetween(facts).filter((flow) => flow.source === card.name);
  return [...texts, ...sent.map((flow) => text(0, 0, `→ ${flow.target} ${sizeWords(flow.nbytes)}`, { size: 11 }))];
}

function addGrid(map) {
  map.isSummed = true;
  const [marks, end] = gridMarks(map.facts, map.left, map.y, map.right - map.left);
  addSquares(map, marks);
  map.y = end;
}

function addSquares(map, marks) {
  for (const { data, marks: [square] } of marks.filter((mark) => mark.data)) {
    map.rooms.set(data.device, [square.x, square.y, square.width, square.height]);
  }
  map.marks.push(...marks);
}

function isCluster(facts) {
  return facts.cards.some((card) => card.name.includes("/"));
}

function addCluster(map) {
  map.isSummed = true;
  const { marks, end, hidden, hosts } = clusterMarks(map.facts, map.left, map.y, map.right - map.left);
  addSquares(map, marks);
  Object.assign(map, { y: end, hidden, hosts });
}

// Foot

function addMapFoot(map) {
  const { facts } = map;
  const addLine = (texts) => texts.length && addFlowed(map, texts, map.y + 20);
  addLine(legendTexts(map));
  const sentence = map.isSummed ? unlikeSentence(facts) : "";
  if (sentence) addLine([text(0, 0, sentence, { weight: 650 })]);
  const folded = fill(WORDS.deviceMap.folded, { constants: facts.constants, copies: facts.smallCopies });
  if (facts.constants || facts.smallCopies) addLine([text(0, 0, folded, { fill: "soft", size: 11 })]);
  if (!facts.path.length) return;
  map.marks.push(line(map.left, map.y + 12, map.right, map.y + 12));
  const [marks, end] = drawnWay(stepsOf(facts.path), map.left, map.y + 22, map.right - map.left);
  map.marks.push(...marks);
  map.y = end;
}

function legendTexts({ facts, isSummed, hidden }) {
  const said = WORDS.deviceMap;
  const texts = [];
  if (isSummed) texts.push(text(0, 0, said.height, { fill: "soft", size: 11 }));
  else if (facts.flows.length) texts.push(text(0, 0, said.widths, { fill: "soft", size: 11 }));
  const between = flowsBetween(facts);
  if (!between.length) return texts;
  const copies = copiesWords(sumOf(between, "copies"));
  texts.push(text(0, 0, fill(said.between, { copies, size: sizeWords(sumOf(between, "nbytes")) }), { weight: 650 }));
  const [count, nbytes] = isCluster(facts) ? betweenHosts(facts) : [0, 0];
  if (count) texts.push(text(0, 0, fill(said.betweenHosts, { copies: copiesWords(count), size: sizeWords(nbytes) }), { weight: 650 }));
  if (hidden) texts.push(text(0, 0, fill(said.hiddenFlows, { n: hidden }), { fill: "soft", size: 11 }));
  return texts;
}
