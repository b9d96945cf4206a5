// Which ops of a lane are long enough for a mark in a window, and how busy was the lane in each column besides? Answered
// without a look at each op: those of about the same length and colour are a group, with the sums of their seconds.

import { shareOf } from "./timeline_sums.js";

export const CLASSES = 64; // powers of two of seconds, from a picosecond on
const LEAST_EXPONENT = 1023 - 40;
const TOKENS = 8;

// The powers of two below some numbers, from 0 to 63: their exponents as they are written in memory.
export function classesOf(numbers) {
  const words = new Uint32Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
  const classes = new Uint8Array(numbers.length);
  for (let at = 0; at < classes.length; at++) {
    const exponent = (words[2 * at + 1] >>> 20) - LEAST_EXPONENT;
    classes[at] = exponent < 0 ? 0 : exponent < CLASSES ? exponent : CLASSES - 1;
  }
  return classes;
}

// What all numbers of a class are below, whichever they are.
export function longestOfClass(size) {
  return size === CLASSES - 1 ? Infinity : 2 ** (size + 1 - 40);
}

// The groups of a lane: {token, folded, longest, ops, before}, of which `before` are the sums of the seconds before each op.
export function groupsOf(scene, lane) {
  const whole = scene.lanes[lane.number];
  whole.groups ??= groupedOps(scene, whole);
  return whole.groups;
}

function groupedOps({ ops, facts, isFolded }, { first, last }) {
  const { seconds, fact } = ops;
  const sizes = classesOf(seconds.subarray(first, last));
  const busy = Uint8Array.from(facts, (each) => each.busy);
  const numbers = byKey(last - first, CLASSES * TOKENS * 2, (at) => (
    seconds[first + at] ? (sizes[at] * TOKENS + busy[fact[first + at]]) * 2 + isFolded[first + at] : -1 // what takes no time is not seen
  ));
  return numbers.map(([key, members]) => {
    const before = new Float64Array(members.length + 1);
    let longest = 0;
    for (let number = 0; number < members.length; number++) {
      const op = (members[number] += first);
      before[number + 1] = before[number] + seconds[op] * shareOf(ops, op);
      if (seconds[op] > longest) longest = seconds[op];
    }
    return { token: (key >> 1) % TOKENS, folded: key & 1, longest, ops: members, before };
  });
}

// [[key, the numbers of that key in order]] of the numbers below `length`; those with a key below 0 are left out.
export function byKey(length, keys, keyOf) {
  const counts = new Uint32Array(keys);
  const all = new Int16Array(length);
  for (let at = 0; at < length; at++) if ((all[at] = keyOf(at)) >= 0) counts[all[at]]++;
  const groups = Array.from(counts, (count) => new Uint32Array(count));
  counts.fill(0);
  for (let at = 0; at < length; at++) if (all[at] >= 0) groups[all[at]][counts[all[at]]++] = at;
  return [...groups.entries()].filter(([, members]) => members.length);
}

// Where in a group the ops are that a window has something of: from the first to the one after the last.
export function rangeIn(scene, { ops }, { from, to }) {
  const { start, seconds } = scene.ops;
  const first = search(0, ops.length, (at) => start[ops[at]] + seconds[ops[at]] >= from);
  return [first, search(first, ops.length, (at) => start[ops[at]] > to)];
}

// Adds a part of a group to a stack: op by op, or column by column where those are fewer.
export function addGroup(scene, busy, group, [first, last]) {
  const { start, seconds } = scene.ops;
  const { ops, before, token } = group;
  if (last - first <= busy.columns) {
    for (let at = first; at < last; at++) busy.add(start[ops[at]], start[ops[at]] + seconds[ops[at]], token, shareOf(scene.ops, ops[at]));
    return;
  }
  let at = first;
  const secondsUntil = (moment) => {
    at = search(at, last, (other) => start[ops[other]] >= moment);
    return at === first ? 0 : before[at - 1] - before[first] + Math.min(moment - start[ops[at - 1]], seconds[ops[at - 1]]) * shareOf(scene.ops, ops[at - 1]);
  };
  busy.addSums(secondsUntil, token);
}

// The first number for which something is true that is true for all behind it.
export function search(first, last, isTrue) {
  let [low, high] = [first, last];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
