// Draws many devices as squares, each filled by the bytes it sent and received. Counterpart of stills/device_grid.py.

import { shortInCluster } from "./map_flows.js";
import { executedOn, mainOp } from "./map_rooms.js";
import { rectangle, text } from "./picture.js";
import { digitsOf, sizeWords } from "./time_scale.js";
import { WORDS, fill, grouped } from "./words.js";

export const SQUARE = { height: 48, gap: 6, labels: 72, narrowest: 72, square: 60, perRow: 8, ascent: 10, descent: 3 };
const UNLIKE = 1.5; // multiple of the median from which a device is worth mentioning

export function trafficOf(facts, name) {
  return facts.flows.reduce((sum, flow) => sum + (flow.source === name || flow.target === name ? flow.nbytes : 0), 0);
}

// How many squares fit side by side in `width`, including gaps.
export function perRowOf(width, narrowest) {
  return Math.max(1, Math.min(SQUARE.perRow, Math.floor(width / (narrowest + SQUARE.gap))));
}

// [squares in rows, the y coordinate below them].
export function gridMarks(facts, x, y, width) {
  const perRow = perRowOf(width - SQUARE.labels + SQUARE.gap, SQUARE.square);
  const across = (width - SQUARE.labels + SQUARE.gap) / perRow - SQUARE.gap;
  const sums = new Map(facts.cards.map((card) => [card.name, trafficOf(facts, card.name)]));
  const most = Math.max(0, ...sums.values());
  const rows = [];
  for (let begin = 0; begin < facts.cards.length; begin += perRow) rows.push(facts.cards.slice(begin, begin + perRow));
  const marks = rows.flatMap((cards, number) => {
    const top = y + number * (SQUARE.height + SQUARE.gap);
    const total = sizeWords(cards.reduce((sum, card) => sum + sums.get(card.name), 0));
    const label = fill(WORDS.deviceMap.row, { n: number });
    const squares = cards.map((card, column) => squareOf(card, x + SQUARE.labels + column * (across + SQUARE.gap), top, across, sums.get(card.name), most));
    return [text(x, top + 18, label, { size: 11, weight: 650 }), text(x, top + 33, total, { fill: "soft", size: 11 }), ...squares];
  });
  return [marks, y + rows.length * (SQUARE.height + SQUARE.gap) - SQUARE.gap];
}

// A square with its name and bytes, filled relative to the most bytes.
export function squareOf(card, x, y, width, nbytes, most) {
  const height = nbytes ? Math.max(1.5, ((SQUARE.height - 1) * nbytes) / most) : 0;
  const edge = card.now ? { stroke: "focus", strokeWidth: 2 } : { stroke: "hair2" };
  const marks = [rectangle(x + 0.5, y + 0.5, width - 1, SQUARE.height - 1, "paper", { ...edge, radius: 4 })];
  if (height) marks.push(rectangle(x + 0.5, y + SQUARE.height - 0.5 - height, width - 1, height, "cpyf", { stroke: "cpy", strokeWidth: 0.8, radius: 2 }));
  const name = card.name.includes(":") ? card.name.slice(card.name.lastIndexOf("/") + 1) : card.name;
  for (const [baseline, words, weight] of [[15, name, 650], [29, card.lost ? WORDS.deviceMap.lost : sizeWords(nbytes), 400]]) {
    const isOnFill = height > SQUARE.height - baseline + SQUARE.ascent;
    const halo = !isOnFill && height > SQUARE.height - baseline - SQUARE.descent;
    marks.push(text(x + 8, y + baseline, words, { fill: isOnFill ? "on-cpyf" : card.lost ? "hot" : "ink", size: 11, weight, halo }));
  }
  const title = `${card.name}: ${mainOp(card)?.op ?? "–"}, ${sizeWords(nbytes)}${card.lost ? `, ${WORDS.deviceMap.lost}` : ""}`;
  return { mark: "group", marks, title, data: { device: card.name } };
}

// A sentence about the device that stands out; empty if none does.
export function unlikeSentence(facts) {
  const said = WORDS.deviceMap;
  const comparisons = [
    [facts.cards.map((card) => trafficOf(facts, card.name)), said.copiesTimes, said.copiesAlone],
    [facts.cards.map(executedOn), said.runsTimes, said.runsAlone],
  ];
  for (const [figures, severalTimes, alone] of comparisons) {
    const most = Math.max(...figures);
    const middle = medianOf(figures);
    const { name } = facts.cards[figures.indexOf(most)];
    if (middle && most >= UNLIKE * middle) return fill(severalTimes, { name: shortInCluster(name), n: timesWords(most / middle) });
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
