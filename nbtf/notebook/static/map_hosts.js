// Draws a cluster: a row for each host with the copies between hosts, or squares if there are many hosts.
//
// A host that the reader has opened (`facts.open`) shows its cards as rooms: in its row, or below the squares.

import { byHost, flowsBetween, hostOfDevice, sumOf } from "./map_flows.js";
import { GRID, cellsIn, mostOf, rowLabels, squareOf, trafficOf, trafficSum } from "./map_grid.js";
import { ROOM, roomMarks } from "./map_rooms.js";
import { path } from "./picture.js";
import { sizeWords } from "./time_scale.js";
import { WORDS, fill } from "./words.js";

// The most hosts with rows of their own; in px: the widths of flows and of names, and the minimum width of a square; the number of
// flows side by side, their distance, and that of the first from its hosts; the width of a flow, and of its head.
export const HOSTS = { mostRows: 16, gutter: 48, labels: 76, narrowest: 60, lanes: 12, lane: 3, firstLane: 8, widest: 3, head: 5, ear: 3 };
const NARROWEST_ROOM = 96; // in the row of an open host

// {marks, end, hidden, hosts}: hosts as rows of squares, or as squares; the y coordinate below them; the number of flows between
// hosts that are not drawn; and the position of each host's square.
export function clusterMarks(facts, x, y, width) {
  const hosts = byHost(facts.cards);
  if (hosts.size > HOSTS.mostRows) return hostSquares(facts, hosts, x, y, width);
  const pairs = pairsOfHosts(facts, [...hosts.keys()]);
  const left = x + (pairs.length ? HOSTS.gutter : 0);
  const { marks, tops, end, places } = hostRows(facts, hosts, left, y, x + width - left);
  const [flows, hidden] = flowsOfHosts(pairs, [...hosts.keys()], tops, left - 4);
  return { marks: [...flows, ...marks], end, hidden, hosts: places };
}

function hostRows(facts, hosts, x, y, width) {
  const traffic = trafficOf(facts);
  const most = mostOf(facts.cards, traffic);
  const marks = [];
  const tops = [];
  const places = new Map();
  for (const [host, members] of hosts) {
    tops.push(y);
    const name = host || WORDS.deviceMap.here;
    marks.push(...rowLabels(x, y, name, members, traffic));
    places.set(host, { box: [x - 4, y, HOSTS.labels - 4, GRID.square], title: hostTitle(name, members, traffic) });
    const isOpen = facts.open?.has(host);
    const sizes = isOpen ? [NARROWEST_ROOM, ROOM.compact] : [HOSTS.narrowest, GRID.square];
    const { corners, across, end } = cellsIn(members.length, x + HOSTS.labels, y, width - HOSTS.labels, ...sizes);
    members.forEach((card, at) => {
      const nbytes = traffic.get(card.name);
      marks.push(isOpen ? roomOf(card, ...corners[at], across, nbytes / (most || 1)) : squareOf(card, ...corners[at], across, nbytes, most));
    });
    y = end + GRID.gap;
  }
  return { marks, tops, end: y - GRID.gap, places };
}

function roomOf(card, x, y, width, copied) {
  const name = card.name.slice(card.name.lastIndexOf("/") + 1);
  return { mark: "group", marks: roomMarks({ ...card, name }, x, y, width, true, copied), data: { device: card.name } };
}

function hostTitle(name, members, traffic) {
  return `${name}: ${fill(WORDS.deviceMap.gpus, { n: members.length })}, ${sizeWords(trafficSum(members, traffic))}`;
}

function hostSquares(facts, hosts, x, y, width) {
  const { corners, across, end } = cellsIn(hosts.size, x, y, width, HOSTS.narrowest);
  const traffic = trafficOf(facts);
  const most = Math.max(0, ...[...hosts.values()].map((members) => trafficSum(members, traffic)));
  const places = new Map();
  const marks = [...hosts].map(([host, members], at) => {
    const name = host || WORDS.deviceMap.here;
    const title = hostTitle(name, members, traffic);
    places.set(host, { box: [...corners[at], across, GRID.square], title });
    const now = members.some((card) => card.now);
    const lost = members.every((card) => card.lost);
    const { marks: inside } = squareOf({ name, ops: [], now, lost }, ...corners[at], across, trafficSum(members, traffic), most);
    return { mark: "group", marks: inside, title };
  });
  const open = new Map([...hosts].filter(([host]) => facts.open?.has(host)));
  if (!open.size) return { marks, end, hidden: 0, hosts: places };
  const below = hostRows({ ...facts, cards: [...open.values()].flat() }, open, x, end + 2 * GRID.gap, width);
  return { marks: [...marks, ...below.marks], end: below.end, hidden: 0, hosts: places };
}

// Between hosts

// [copies, bytes] between cards of different hosts.
export function betweenHosts(facts) {
  const flows = flowsBetween(facts).filter(({ source, target }) => hostOfDevice(source) !== hostOfDevice(target));
  return [sumOf(flows, "copies"), sumOf(flows, "nbytes")];
}

// The pairs of hosts with copies between them, nearest first: {first, second, onwards, back}.
function pairsOfHosts(facts, hosts) {
  const number = new Map(hosts.map((host, at) => [host, at]));
  const pairs = new Map();
  for (const flow of flowsBetween(facts)) {
    const [source, target] = [number.get(hostOfDevice(flow.source)), number.get(hostOfDevice(flow.target))];
    if (source === target) continue;
    const [first, second] = [Math.min(source, target), Math.max(source, target)];
    const key = `${first} ${second}`;
    if (!pairs.has(key)) pairs.set(key, { first, second, onwards: 0, back: 0 });
    pairs.get(key)[source > target ? "back" : "onwards"] += flow.nbytes;
  }
  return [...pairs.values()].sort((a, b) => a.second - a.first - (b.second - b.first) || a.first - b.first);
}

// [a bracket for each pair that has a lane, as thick as its bytes; the number of pairs without a lane].
function flowsOfHosts(pairs, hosts, tops, right) {
  const lanes = [];
  const laneOf = new Map();
  for (const pair of pairs) {
    let lane = lanes.findIndex((members) => members.every((other) => pair.first >= other.second || other.first >= pair.second));
    if (lane < 0 && lanes.length < HOSTS.lanes) lane = lanes.push([]) - 1;
    if (lane < 0) continue;
    lanes[lane].push(pair);
    laneOf.set(pair, lane);
  }
  const most = Math.max(0, ...pairs.map(({ onwards, back }) => onwards + back));
  const ends = endsOfFlows(laneOf, tops);
  const marks = [...laneOf].map(([pair, lane]) => {
    const x = right - HOSTS.firstLane - HOSTS.lane * lane;
    const width = Math.max(1, (HOSTS.widest * (pair.onwards + pair.back)) / most);
    const [first, second] = [ends.get(pair).get(pair.first), ends.get(pair).get(pair.second)];
    const way = path([[right, first], [x, first], [x, second], [right, second]], { stroke: "cpy", strokeWidth: width });
    const heads = [[second, pair.onwards], [first, pair.back]].filter(([, nbytes]) => nbytes).map(([end]) => headOfFlow(right, end));
    return { mark: "group", marks: [way, ...heads], title: flowTitle(pair, hosts) };
  });
  return [marks, pairs.length - laneOf.size];
}

// Where each pair ends at each of its hosts: spread out, from the top down in order of lanes.
function endsOfFlows(laneOf, tops) {
  const ends = new Map([...laneOf.keys()].map((pair) => [pair, new Map()]));
  tops.forEach((top, host) => {
    const here = [...laneOf.keys()].filter(({ first, second }) => first === host || second === host);
    const rank = (pair) => (pair.second === host ? [0, -laneOf.get(pair)] : [1, laneOf.get(pair)]);
    here.sort((a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1] - rank(b)[1]);
    here.forEach((pair, at) => ends.get(pair).set(host, top + (GRID.square * (at + 1)) / (here.length + 1)));
  });
  return ends;
}

function headOfFlow(x, y) {
  return path([[x - HOSTS.head, y - HOSTS.ear], [x, y], [x - HOSTS.head, y + HOSTS.ear]], { fill: "cpy", closed: true });
}

function flowTitle(pair, hosts) {
  const ways = [[pair.first, pair.second, pair.onwards], [pair.second, pair.first, pair.back]];
  return ways.filter(([, , nbytes]) => nbytes).map(([source, target, nbytes]) => `${hosts[source]} → ${hosts[target]}: ${sizeWords(nbytes)}`).join("; ");
}
