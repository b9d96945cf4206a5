// The memory of a device in a snapshot, as snapshots/memory.py writes it: columns of pieces by address, and what each step leaves of
// them. There may be 100,000 pieces, so a piece becomes an object only when somebody looks at it.

import { decoded } from "./packed_numbers.js";
import { sizeInWords } from "./sizes.js";

const NUMBERS = { start: Float64Array, size: Float64Array, requested: Float64Array, birth: Uint32Array, death: Uint32Array, stack: Int32Array, stream: Float64Array };

// The history with its columns, its way to group, and the memory in use after each step.
export function snapshotHistory(data) {
  const columns = Object.fromEntries(Object.entries(NUMBERS).map(([name, type]) => [name, decoded(data.pieces[name], type)]));
  const groupings = data.groupings.map((grouping) => ({ ...grouping, of: decoded(grouping.of, Uint8Array) }));
  const regions = data.extents.map(([region, start, size, birth, death]) => ({ region, start, size, birth, death }));
  const inUse = levelsOf(columns, data.steps, () => true);
  let peak = 0;
  for (let step = 1; step < data.steps; step++) if (inUse[step] > inUse[peak]) peak = step;
  const history = { ...data, columns, groupings, extents: regions, inUse, peak, moment: null, objects: new Map(), pieces: { length: columns.start.length } };
  history.byAddress = [...regions].sort((a, b) => a.start - b.start);
  history.end = columns.start.reduce((most, start, at) => Math.max(most, start + columns.size[at]), 0);
  groupColumns(history, 0);
  return history;
}

// Groups the pieces in another way, one of `history.groupings`.
export function groupColumns(history, number) {
  const { names, fills, of } = history.groupings[number];
  history.grouping = number;
  history.groupOf = of;
  history.groups = names.map((name, at) => ({ name, fill: fills[at] }));
  history.present = new Set(of);
  for (const [at, piece] of history.objects) piece.group = history.groups[of[at]];
}

// The bytes of each group after each step.
export function groupLevelsOf({ columns, steps, groups, groupOf }) {
  return new Map(groups.map((group, number) => [group, levelsOf(columns, steps, (at) => groupOf[at] === number)]));
}

function levelsOf({ size, birth, death }, steps, isCounted) {
  const levels = new Float64Array(steps + 1);
  for (let at = 0; at < size.length; at++) {
    if (!isCounted(at)) continue;
    levels[birth[at]] += size[at];
    levels[death[at]] -= size[at];
  }
  for (let step = 1; step <= steps; step++) levels[step] += levels[step - 1];
  return levels;
}

// A piece as an object; always the same one.
export function pieceObject(history, at) {
  const { columns, objects, groups, groupOf, lines } = history;
  if (!objects.has(at)) {
    const numbers = Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[at]]));
    const line = lines.at(numbers.stack);
    const title = line === lines.at(-1) ? "" : line; // the last line is that of pieces without a stack, which their size describes
    objects.set(at, { ...numbers, at, title, line, shape: "", fate: "", seq: 0, group: groups[groupOf[at]] });
  }
  return objects.get(at);
}

// The frames of a piece's stack, the innermost first.
export function stackOf({ stacks, frames }, { stack }) {
  return stack < 0 ? [] : stacks[stack].map((at) => frames[at]);
}

// What exists after a step: {alive: positions of pieces, holes: [region, start, size], free, largest, reserved}, all by address.
export function momentOf(history, step) {
  if (history.moment?.step === step) return history.moment;
  const { columns: { start, size, birth, death }, byAddress } = history;
  const alive = new Int32Array(start.length);
  let count = 0;
  for (let at = 0; at < start.length; at++) if (birth[at] <= step && step < death[at]) alive[count++] = at;
  const moment = { step, alive: alive.subarray(0, count), holes: [], free: 0, largest: 0, reserved: 0, regions: [] };
  let next = 0;
  for (const region of byAddress) {
    if (region.birth > step || step >= region.death) continue;
    const end = region.start + region.size;
    let from = region.start;
    moment.reserved += region.size;
    moment.regions.push(region);
    for (; next < count && start[alive[next]] < end; next++) {
      hole(moment, region, from, start[alive[next]]);
      from = Math.max(from, start[alive[next]] + size[alive[next]]);
    }
    hole(moment, region, from, end);
  }
  history.moment = moment;
  return moment;
}

function hole(moment, region, from, to) {
  if (to <= from) return;
  moment.holes.push([region, from, to - from]);
  moment.free += to - from;
  moment.largest = Math.max(moment.largest, to - from);
}

// The chunks of a step as objects, by address; `least` leaves out smaller ones.
export function snapshotChunks(history, step, least = 0) {
  const { columns: { start, size } } = history;
  const { alive, holes, regions } = momentOf(history, step);
  const chunks = [];
  for (const [region, from, bytes] of holes) if (bytes > least) chunks.push({ region: region.region, offset: from - region.start, start: from, size: bytes, piece: null });
  let number = 0;
  for (const at of alive) {
    if (size[at] <= least) continue;
    while (number < regions.length - 1 && regions[number].start + regions[number].size <= start[at]) number++;
    const region = regions[number] ?? { region: 0, start: 0 };
    chunks.push({ region: region.region, offset: start[at] - region.start, start: start[at], size: size[at], piece: pieceObject(history, at) });
  }
  return chunks.sort((a, b) => a.start - b.start);
}

// The pieces of a step, with those of one stack and size as one.
export function sumsOfPieces(history, step) {
  const { columns: { size, requested } } = history;
  history.kinds ??= kindsOf(history);
  const sums = new Map();
  for (const at of momentOf(history, step).alive) {
    const sum = sums.get(history.kinds[at]);
    if (sum) ((sum.count += 1), (sum.size += size[at]), (sum.requested += requested[at]));
    else sums.set(history.kinds[at], { at, count: 1, size: size[at], requested: requested[at] });
  }
  return [...sums.values()].map(({ at, count, ...bytes }) => {
    const member = pieceObject(history, at);
    return { ...member, ...bytes, member, kind: history.kinds[at], shape: count > 1 ? `${count} × ${sizeInWords(size[at])}` : "" };
  });
}

// A number for each combination of stack and size.
function kindsOf({ columns: { stack, size } }) {
  const numbers = new Map();
  return Int32Array.from(stack, (each, at) => {
    const key = each * 2 ** 40 + size[at];
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    return numbers.get(key);
  });
}
