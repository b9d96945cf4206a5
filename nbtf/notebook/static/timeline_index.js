// Finds a lane's ops that are long enough for a mark in a window, and the load of all others in each column, without visiting
// each op: ops of about the same length and colour form a group, with the cumulative sums of their seconds.

import { FILLS } from "./measures.js";
import { shareOf } from "./timeline_sums.js";

export const CLASSES = 64; // powers of two of seconds, from one picosecond up
const LEAST_EXPONENT = 1023 - 40;

// The order of tokens in a column of a lane, from below: those of all ops and copies.
export const BUSY_TOKENS = [...FILLS.fillNames].sort();
export const COPY_TOKEN = BUSY_TOKENS.indexOf("cpyf");
const TOKENS = BUSY_TOKENS.length;

// For each number, the power of two above it, as an exponent from 0 to 63, read from its bits in memory.
export function classesOf(numbers) {
  const words = new Uint32Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
  const classes = new Uint8Array(numbers.length);
  for (let at = 0; at < classes.length; at++) {
    const exponent = (words[2 * at + 1] >>> 20) - LEAST_EXPONENT;
    classes[at] = exponent < 0 ? 0 : exponent < CLASSES ? exponent : CLASSES - 1;
  }
  return classes;
}

// An upper bound of all numbers of a class.
export function longestOfClass(size) {
  return size === CLASSES - 1 ? Infinity : 2 ** (size + 1 - 40);
}

// The groups of a lane: {token, folded, longest, ops, before}; `before` are the total seconds before each op.
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
    seconds[first + at] ? (sizes[at] * TOKENS + busy[fact[first + at]]) * 2 + isFolded[first + at] : -1 // ops without duration are invisible
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

// [[key, the numbers of that key in order]] of the numbers below `length`; those with a negative key are left out.
export function byKey(length, keys, keyOf) {
  const counts = new Uint32Array(keys);
  const all = new Int16Array(length);
  for (let at = 0; at < length; at++) if ((all[at] = keyOf(at)) >= 0) counts[all[at]]++;
  const groups = Array.from(counts, (count) => new Uint32Array(count));
  counts.fill(0);
  for (let at = 0; at < length; at++) if (all[at] >= 0) groups[all[at]][counts[all[at]]++] = at;
  return [...groups.entries()].filter(([, members]) => members.length);
}

// The range of a group's ops that overlap a window: from the first to the one after the last.
export function rangeIn(scene, { ops }, { from, to }) {
  const { start, seconds } = scene.ops;
  const first = search(0, ops.length, (at) => start[ops[at]] + seconds[ops[at]] >= from);
  return [first, search(first, ops.length, (at) => start[ops[at]] > to)];
}

// Adds part of a group to a stack: op by op, or column by column if those are fewer.
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

// Binary search: the first number for which a condition holds that also holds for all later ones.
export function search(first, last, isTrue) {
  let [low, high] = [first, last];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
