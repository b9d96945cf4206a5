// Draws a cluster: a row for each host and a square for each card, filled by the card's memory in use.
//
// The input comes from stills/cluster_map.py: {title, simulated, hosts: [{name, cards: [{name, inUse, total}]}], silent: the names of
// workers that do not answer, as text}.

import { flowed } from "./flow.js";
import { GRID, cellsIn, squareOf } from "./map_grid.js";
import { framed, text } from "./picture.js";
import { sizeWords } from "./time_scale.js";
import { WORDS, fill } from "./words.js";

// In px: the space for the names of hosts, and the minimum width of a square; in a picture narrower than `narrow`, names are drawn
// `above` their cards. `letter` is the width of a letter of a name.
const CLUSTER = { margin: 16, narrowest: 288, labels: 132, square: 76, narrow: 480, above: 40, mostRows: 16, letter: 7.5 };

export function clusterPicture(look, width) {
  const wide = Math.max(width, CLUSTER.narrowest);
  const right = wide - CLUSTER.margin;
  const [head, below] = flowed(clusterHead(look), CLUSTER.margin, right, 28);
  const [squares, end] = look.hosts.length > CLUSTER.mostRows ? tilesOfHosts(look.hosts, right, below + 14) : rowsOfHosts(look.hosts, right, below + 14);
  const foot = [text(0, 0, WORDS.deviceMap.heightInUse, { fill: "soft", size: 11 })];
  if (look.silent) foot.push(text(0, 0, fill(WORDS.deviceMap.silent, { names: look.silent }), { fill: "hot" }));
  const [last, y] = flowed(foot, CLUSTER.margin, right, end + 20);
  return framed(wide, Math.round(y + CLUSTER.margin), look.title, [...head, ...squares, ...last]);
}

function clusterHead({ hosts, simulated }) {
  const said = WORDS.deviceMap;
  const cards = hosts.flatMap((host) => host.cards);
  const title = fill(said.clusterTitle, { hosts: hosts.length, n: cards.length });
  const texts = [text(0, 0, title, { size: 15, weight: 650 }), text(0, 0, usedWords(cards), { fill: "soft" })];
  return simulated ? [...texts, text(0, 0, said.simulated, { fill: "soft", required: true })] : texts;
}

// [a row for each host, the y coordinate below them].
function rowsOfHosts(hosts, right, y) {
  const marks = [];
  const [beside, above] = right < CLUSTER.narrow ? [0, CLUSTER.above] : [CLUSTER.labels, 0];
  for (const { name, cards } of hosts) {
    const label = text(CLUSTER.margin, y + 18, fittingName(name, beside || right - CLUSTER.margin), { size: 11, weight: 650 });
    const used = text(CLUSTER.margin, y + 33, cards.length ? usedWords(cards) : WORDS.deviceMap.noCards, { fill: "soft", size: 11 });
    marks.push({ mark: "group", marks: [label, used], title: `${name}: ${used.words}` });
    const [squares, end] = squaresOfCards(cards, CLUSTER.margin + beside, y + above, right);
    marks.push(...squares);
    y = Math.max(end, y + (above || GRID.square)) + GRID.gap;
  }
  return [marks, y - GRID.gap];
}

// [a square for each host, the y coordinate below them].
function tilesOfHosts(hosts, right, y) {
  const sums = hosts.map(({ name, cards }) => ({
    name,
    inUse: cards.reduce((sum, card) => sum + (card.inUse ?? 0), 0),
    total: cards.reduce((sum, card) => sum + card.total, 0),
  }));
  return squaresOfCards(sums, CLUSTER.margin, y, right);
}

function squaresOfCards(cards, x, y, right) {
  const { corners, across, end } = cellsIn(cards.length, x, y, right - x, CLUSTER.square);
  const marks = cards.map((card, at) => {
    const name = fittingName(card.name, across).replaceAll(":", " ");
    const used = card.inUse ?? 0;
    const square = squareOf({ name, ops: [] }, ...corners[at], across, used, Math.max(card.total, used, 1));
    return { mark: "group", marks: square.marks, title: `${card.name}: ${usedWords([card])}` };
  });
  return [marks, end];
}

// A name that fits: without the host's domain and, if needed, without what numbered names share.
function fittingName(name, width) {
  const letters = Math.floor(width / CLUSTER.letter) - 1;
  const isAddress = /^\d+$/.test(name.replaceAll(".", ""));
  const first = isAddress || name.length <= letters ? name : name.split(".")[0];
  return first.length <= letters ? first : `…${first.slice(1 - letters)}`;
}

// How much memory of some cards is in use; a dash if it is unknown.
function usedWords(cards) {
  const known = cards.filter(({ inUse }) => inUse !== null);
  const used = known.length ? sizeWords(known.reduce((sum, { inUse }) => sum + inUse, 0)) : "–";
  return `${used} / ${sizeWords(cards.reduce((sum, { total }) => sum + total, 0))}`;
}
