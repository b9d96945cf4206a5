// What ran in a scene, and what of it lies in a window? Columns of numbers, which Python packed (see views/timeline_data.py).

const CONSTANT_OP = "_EagerConst";

// The order of tokens in a column of a lane, from below.
export const BUSY_TOKENS = ["bwd", "cpyf", "fwd", "py", "tmp", "upd", "wgt"];
export const COPY_TOKEN = BUSY_TOKENS.indexOf("cpyf");

// Takes what Python sent. `lanes` have `first` and `last` of their ops, which are in order, and `copies`, the numbers of theirs.
export function timelineScene(data) {
  const ops = { start: decoded(data.ops.start, Float64Array), seconds: decoded(data.ops.seconds, Float64Array), fact: decoded(data.ops.fact, Uint32Array) };
  const copies = Object.fromEntries(
    Object.entries({ source: Uint16Array, target: Uint16Array, start: Float64Array, seconds: Float64Array, nbytes: Float64Array })
      .map(([name, type]) => [name, decoded(data.copies[name], type)]),
  );
  const scene = { ...data, ops, copies };
  let first = 0;
  scene.lanes = data.lanes.map((name, number) => {
    const lane = { name, number, host: name.includes("CPU:"), first, last: first + data.counts[number], copies: [] };
    first = lane.last;
    return lane;
  });
  copies.start.forEach((_, copy) => {
    for (const lane of new Set([copies.source[copy], copies.target[copy]])) scene.lanes[lane].copies.push(copy);
  });
  scene.facts = data.facts.map(([op, phase, layer, token, shape, output, why, site]) => (
    { op, phase, layer, token, busy: BUSY_TOKENS.indexOf(token), shape, output, why, site, constant: op === CONSTANT_OP }
  ));
  scene.folded = foldedOf(scene);
  scene.longest = longestOf(scene);
  return scene;
}

function decoded(packed, Numbers) {
  const letters = atob(packed);
  const raw = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) raw[at] = letters.charCodeAt(at);
  return new Numbers(raw.buffer);
}

export function factOf(scene, op) {
  return scene.facts[scene.ops.fact[op]];
}

// Whether an op has no mark of its own.
export function opIsFolded(scene, op) {
  return scene.ops.seconds[op] < scene.shortestOp || factOf(scene, op).constant;
}

// Whether a copy has no mark of its own.
export function copyIsFolded(scene, copy) {
  return scene.copies.nbytes[copy] < scene.smallestCopy;
}

function foldedOf(scene) {
  const folded = { constants: 0, ops: 0, copies: 0 };
  scene.ops.fact.forEach((_, op) => {
    if (factOf(scene, op).constant) folded.constants++;
    else if (opIsFolded(scene, op)) folded.ops++;
  });
  scene.copies.start.forEach((_, copy) => (folded.copies += copyIsFolded(scene, copy)));
  return folded;
}

// The op that took most time; of several the first in time.
function longestOf(scene) {
  const { start, seconds } = scene.ops;
  let longest = -1;
  for (let op = 0; op < seconds.length; op++) {
    if (opIsFolded(scene, op)) continue;
    const more = longest < 0 ? 1 : seconds[op] - seconds[longest] || start[longest] - start[op];
    if (more > 0) longest = op;
  }
  return longest < 0 ? null : { op: longest };
}

// The ops of a lane that a window has something of: from the first to the one after the last.
export function opsIn(scene, lane, { from, to }) {
  const { start, seconds } = scene.ops;
  const begin = search(lane.first, lane.last, (op) => start[op] + seconds[op] >= from);
  return [begin, search(begin, lane.last, (op) => start[op] > to)];
}

// The copies of a lane that a window has something of. A host feeds several cards at once, so ends are in no order.
export function copiesIn(scene, lane, { from, to }) {
  const { start, seconds } = scene.copies;
  const last = search(0, lane.copies.length, (at) => start[lane.copies[at]] > to);
  return lane.copies.slice(0, last).filter((copy) => start[copy] + seconds[copy] >= from);
}

// The first number for which something is true that is true for all behind it.
function search(first, last, isTrue) {
  let [low, high] = [first, last];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// How many percent of a window pieces of a device take.
export function shareOf(columns, numbers, { from, to }) {
  let sum = 0;
  for (const number of numbers) {
    const { [number]: start } = columns.start;
    sum += Math.max(0, Math.min(start + columns.seconds[number], to) - Math.max(start, from));
  }
  return to > from ? Math.round((100 * sum) / (to - from)) : 0;
}

export function* numbersFrom(first, last) {
  for (let number = first; number < last; number++) yield number;
}

// What a reader can go to in a lane, in order of time: ops and copies that have a mark of their own.
export function stopsOf(scene, lane) {
  lane.stops ??= [
    ...[...numbersFrom(lane.first, lane.last)].filter((op) => !opIsFolded(scene, op)).map((op) => ({ op, start: scene.ops.start[op] })),
    ...lane.copies.filter((copy) => !copyIsFolded(scene, copy)).map((copy) => ({ copy, start: scene.copies.start[copy] })),
  ].sort((a, b) => a.start - b.start);
  return lane.stops;
}
