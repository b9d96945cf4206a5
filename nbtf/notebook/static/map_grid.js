// Draws many devices as squares, each filled by the bytes it sent and received.

import { shortInCluster } from "./map_flows.js";
import { executedOn, mainOp } from "./map_rooms.js";
import { rectangle, text } from "./picture.js";
import { digitsOf, sizeWords } from "./time_scale.js";
import { WORDS, fill, grouped } from "./words.js";

// In px: the gap between rooms in rows, and the minimum width of a room; the side of a square, and the minimum width of one; the
// extent of letters above and below their baseline. `unlike` is the multiple of the median from which a device is mentioned.
export const GRID = { gap: 6, room: 72, square: 48, labels: 72, narrowest: 60, perRow: 8, ascent: 10, descent: 3, unlike: 1.5 };

// The bytes that each device sent and received, by name.
export function trafficOf({ cards, flows }) {
  const traffic = new Map(cards.map(({ name }) => [name, 0]));
  for (const { source, target, nbytes } of flows) {
    for (const name of new Set([source, target])) traffic.set(name, (traffic.get(name) ?? 0) + nbytes);
  }
  return traffic;
}

// Equal cells in rows of at most eight, as wide as fits: {corners: the upper left one of each, across, perRow, end: where the
// last row ends}.
export function cellsIn(count, x, y, width, narrowest, height = GRID.square) {
  const perRow = Math.max(1, Math.min(GRID.perRow, Math.floor((width + GRID.gap) / (narrowest + GRID.gap))));
  const across = (width + GRID.gap) / perRow - GRID.gap;
  const corner = (at) => [x + (at % perRow) * (across + GRID.gap), y + Math.floor(at / perRow) * (height + GRID.gap)];
  const end = y + Math.ceil(count / perRow) * (height + GRID.gap) - GRID.gap;
  return { corners: Array.from({ length: count }, (_, at) => corner(at)), across, perRow, end };
}

// [squares in rows, the y coordinate below them].
export function gridMarks(facts, x, y, width) {
  const { cards } = facts;
  const { corners, across, perRow, end } = cellsIn(cards.length, x + GRID.labels, y, width - GRID.labels, GRID.narrowest);
  const traffic = trafficOf(facts);
  const most = mostOf(cards, traffic);
  const marks = cards.flatMap((card, at) => {
    const square = squareOf(card, ...corners[at], across, traffic.get(card.name), most);
    if (at % perRow) return [square];
    const top = corners[at][1];
    const label = fill(WORDS.deviceMap.row, { n: at / perRow });
    return [...rowLabels(x, top, label, cards.slice(at, at + perRow), traffic), square];
  });
  return [marks, end];
}

// The largest number of bytes of any card.
export function mostOf(cards, traffic) {
  return Math.max(0, ...cards.map(({ name }) => traffic.get(name)));
}

export function trafficSum(cards, traffic) {
  return cards.reduce((sum, { name }) => sum + traffic.get(name), 0);
}

// The name of a row of cards, and their bytes.
export function rowLabels(x, y, label, cards, traffic) {
  const total = sizeWords(trafficSum(cards, traffic));
  return [text(x, y + 18, label, { size: 11, weight: 650 }), text(x, y + 33, total, { fill: "soft", size: 11 })];
}

// A square with its name and bytes, filled relative to the most bytes.
export function squareOf(card, x, y, width, nbytes, most) {
  const height = nbytes ? Math.max(1.5, ((GRID.square - 1) * nbytes) / most) : 0;
  const edge = card.now ? { stroke: "focus", strokeWidth: 2 } : { stroke: "hair2" };
  const marks = [rectangle(x + 0.5, y + 0.5, width - 1, GRID.square - 1, "paper", { ...edge, radius: 4 })];
  if (height) marks.push(rectangle(x + 0.5, y + GRID.square - 0.5 - height, width - 1, height, "cpyf", { stroke: "cpy", strokeWidth: 0.8, radius: 2 }));
  const name = card.name.includes(":") ? card.name.slice(card.name.lastIndexOf("/") + 1) : card.name;
  for (const [baseline, words, weight] of [[15, name, 650], [29, card.lost ? WORDS.deviceMap.lost : sizeWords(nbytes), 400]]) {
    const isOnFill = height > GRID.square - baseline + GRID.ascent;
    const halo = !isOnFill && height > GRID.square - baseline - GRID.descent;
    marks.push(text(x + 8, y + baseline, words, { fill: isOnFill ? "on-cpyf" : card.lost ? "hot" : "ink", size: 11, weight, halo }));
  }
  const title = `${card.name}: ${mainOp(card)?.op ?? "–"}, ${sizeWords(nbytes)}${card.lost ? `, ${WORDS.deviceMap.lost}` : ""}`;
  return { mark: "group", marks, title, data: { device: card.name } };
}

// A sentence about the device that stands out; empty if none does.
export function unlikeSentence(facts) {
  const said = WORDS.deviceMap;
  const traffic = trafficOf(facts);
  const comparisons = [
    [facts.cards.map(({ name }) => traffic.get(name)), said.copiesTimes, said.copiesAlone],
    [facts.cards.map(executedOn), said.runsTimes, said.runsAlone],
  ];
  for (const [figures, severalTimes, alone] of comparisons) {
    const most = Math.max(...figures);
    const middle = medianOf(figures);
    const { name } = facts.cards[figures.indexOf(most)];
    if (middle && most >= GRID.unlike * middle) return fill(severalTimes, { name: shortInCluster(name), n: timesWords(most / middle) });
    if (figures.filter((figure) => figure === 0).length === figures.length - 1) return fill(alone, { name: shortInCluster(name) });
  }
  return "";
}

function timesWords(times) {
  return times >= 10 ? grouped(Math.floor(times + 0.5)) : digitsOf(times, 2);
}

function medianOf(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
