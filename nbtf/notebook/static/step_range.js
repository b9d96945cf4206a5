// Sums up what happened to a device's memory in a range of steps: what was allocated and freed, in total, by group and by line.

import { pieceObject } from "./memory_pieces.js";

// {most, change, allocated: {count, bytes}, freed: {count, bytes}, groups: [[name, count, bytes]], lines: [[line, count, bytes]]} for
// the steps from `from` to `to`, both included. The most bytes come first; pieces from before the first step are not counted.
export function sumsOfSteps(history, { from, to }) {
  const { columns: { birth, death, size, stack, madeIn }, groups, groupOf, inUse } = history;
  const kinds = stack ?? madeIn; // pieces of one kind have one line
  const sums = { most: 0, change: 0, allocated: { count: 0, bytes: 0 }, freed: { count: 0, bytes: 0 } };
  const [byGroup, byKind] = [new Map(), new Map()];
  for (let at = 0; at < birth.length; at++) {
    if (from <= death[at] && death[at] <= to) add(sums.freed, size[at]);
    if (birth[at] < from || birth[at] > to || (!birth[at] && history.isOlder(at))) continue;
    add(sums.allocated, size[at]);
    addTo(byGroup, groups[groupOf[at]].name, size[at], at);
    addTo(byKind, kinds[at], size[at], at);
  }
  for (let step = from; step <= to; step++) sums.most = Math.max(sums.most, inUse[step]);
  sums.change = sums.allocated.bytes - sums.freed.bytes;
  const byLine = new Map();
  for (const { at, count, bytes } of byKind.values()) addTo(byLine, codeLineOf(history, at), bytes, at, count);
  return { ...sums, groups: ranked(byGroup), lines: ranked(byLine) };
}

function codeLineOf(history, at) {
  const { line, title } = pieceObject(history, at);
  return line || title;
}

function add(sum, bytes, count = 1) {
  sum.count += count;
  sum.bytes += bytes;
}

function addTo(sums, key, bytes, at, count = 1) {
  if (!sums.has(key)) sums.set(key, { at, count: 0, bytes: 0 });
  add(sums.get(key), bytes, count);
}

function ranked(sums) {
  return [...sums].map(([name, { count, bytes }]) => [name, count, bytes]).sort((a, b) => b[2] - a[2] || b[1] - a[1]);
}
