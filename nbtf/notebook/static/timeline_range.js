// Sums up what ran in a range of time: in total, by device and by op. Counterpart of views/range_sums.py.

import { copiesIn, factOf, opsIn } from "./timeline_scene.js";

// {ops, busy, copies, nbytes, devices: [[name, ops, busy, copies, nbytes]], names: [[op, ops, busy]]}: what overlaps the range
// counts as one each, with all its bytes; `busy` are the seconds of ops inside the range. The busiest come first. Only for a
// scene that has each op. The lane of the program shows the same ops again, so they are not in the totals.
export function sumsOfRange(scene, range) {
  const names = new Map();
  const devices = scene.lanes.map((lane) => [lane.name, ...opsOfLane(scene, lane, range, lane.program ? new Map() : names), ...copySums(scene, copiesInside(scene, lane, range))]);
  const [copies, nbytes] = copySums(scene, new Set(scene.lanes.flatMap((lane) => copiesInside(scene, lane, range))));
  const total = (column) => devices.reduce((sum, device, number) => sum + (scene.lanes[number].program ? 0 : device[column]), 0);
  return {
    ops: total(1), busy: total(2), copies, nbytes,
    devices: devices.filter(([, ops, , copied]) => ops || copied),
    names: [...names].map(([name, sums]) => [name, ...sums]).sort((a, b) => b[2] - a[2] || b[1] - a[1]),
  };
}

function opsOfLane(scene, lane, range, names) {
  const [first, last] = opsIn(scene, lane, range);
  const sums = [0, 0];
  for (let op = first; op < last; op++) {
    if (!isInside(scene.ops, op, range)) continue;
    const { op: name } = factOf(scene, op);
    if (!names.has(name)) names.set(name, [0, 0]);
    for (const each of [sums, names.get(name)]) {
      each[0]++;
      each[1] += secondsInside(scene.ops, op, range);
    }
  }
  return sums;
}

function copiesInside(scene, lane, range) {
  return copiesIn(scene, lane, range).filter((copy) => isInside(scene.copies, copy, range));
}

function copySums(scene, copies) {
  return [copies.size ?? copies.length, [...copies].reduce((sum, copy) => sum + scene.copies.nbytes[copy], 0)];
}

function isInside({ start, seconds }, number, { from, to }) {
  return start[number] < to && (start[number] >= from || start[number] + seconds[number] > from);
}

function secondsInside({ start, seconds }, number, { from, to }) {
  return Math.max(0, Math.min(start[number] + seconds[number], to) - Math.max(start[number], from));
}
