// The pieces of a device's memory as columns of numbers, and what each step leaves of them. There may be 100,000 pieces, so a piece
// becomes an object only when somebody looks at it.
//
// A history has `columns` (start, size, requested, birth, death, and what its file knows), `groups`, `groupOf` (the group of each
// piece), `extents` (regions of memory), `describe(at)`, which returns a piece's title, line, shape, fate and seq, and
// `isOlder(at)`: whether a piece that exists at the first step was allocated before it.

const MOST_BANDS = 2000; // up to which a plane has an element for each piece

// Adds to a history what all views need: the memory in use after each step, the peak, and orders by address.
export function historyWithLevels(history) {
  const { columns, steps, extents } = history;
  const count = columns.start.length;
  const inUse = levelsOf(columns, steps, () => true);
  let [peak, end] = [0, 0];
  for (let step = 1; step < steps; step++) if (inUse[step] > inUse[peak]) peak = step;
  for (let at = 0; at < count; at++) end = Math.max(end, columns.start[at] + columns.size[at]);
  const isPainted = Boolean(history.measured) || count > MOST_BANDS;
  const order = Int32Array.from({ length: count }, (_, at) => at);
  for (let at = 1; at < count; at++) if (columns.start[at] < columns.start[at - 1]) { order.sort((a, b) => columns.start[a] - columns.start[b]); break; }
  const byAddress = [...extents].sort((a, b) => a.start - b.start);
  return Object.assign(history, { count, inUse, peak, end, isPainted, everyStep: isPainted, order, byAddress, moment: null, objects: new Map() });
}

// The bytes of each group after each step, kept while the groups stay the same.
export function groupLevels(history) {
  const { columns, steps, groups, groupOf } = history;
  if (history.levels?.groups !== groups) {
    const totals = new Map(groups.map((group, number) => [group, levelsOf(columns, steps, (at) => groupOf[at] === number)]));
    history.levels = { groups, totals };
  }
  return history.levels.totals;
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
  const { columns, objects, groups, groupOf } = history;
  if (!objects.has(at)) {
    const piece = Object.assign(history.describe(at), { at, group: groups[groupOf[at]] });
    for (const name in columns) piece[name] = columns[name][at];
    objects.set(at, piece);
  }
  return objects.get(at);
}

// All pieces as objects, in the order of the file.
export function allPieces(history) {
  return Array.from({ length: history.count }, (_, at) => pieceObject(history, at));
}

// What exists after a step: {alive: positions of pieces, holes: [region, start, size], free, largest, reserved, regions}, all by address.
export function momentOf(history, step) {
  if (history.moment?.step === step) return history.moment;
  const { columns: { start, size, birth, death }, order, byAddress } = history;
  const alive = new Int32Array(order.length);
  let count = 0;
  for (let number = 0; number < order.length; number++) {
    const at = order[number];
    if (birth[at] <= step && step < death[at]) alive[count++] = at;
  }
  const moment = { step, alive: alive.slice(0, count), holes: [], free: 0, largest: 0, reserved: 0, regions: [] };
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

// The chunks of a step as objects, by address: pieces, and the holes between them; without those up to a size, or outside of addresses.
export function chunksAt(history, step, least = 0, low = 0, high = Infinity) {
  const { columns: { start, size } } = history;
  const { alive, holes, regions } = momentOf(history, step);
  const chunks = [];
  const isShown = (from, bytes) => bytes > least && from < high && from + bytes > low;
  for (const [region, from, bytes] of holes) if (isShown(from, bytes)) chunks.push({ region: region.region, offset: from - region.start, start: from, size: bytes, piece: null });
  let number = 0;
  for (const at of alive) {
    if (!isShown(start[at], size[at])) continue;
    while (number < regions.length - 1 && regions[number].start + regions[number].size <= start[at]) number++;
    const region = regions[number] ?? { region: 0, start: 0 };
    chunks.push({ region: region.region, offset: start[at] - region.start, start: start[at], size: size[at], piece: pieceObject(history, at) });
  }
  return chunks.sort((a, b) => a.start - b.start);
}

// The pieces of a step as objects, by address.
export function piecesAt(history, step) {
  return Array.from(momentOf(history, step).alive, (at) => pieceObject(history, at));
}

// The pieces of a step, those of one description and size as one: {at: one of them, count, size, requested}, the largest first.
export function sumsOfPieces(history, step) {
  const { columns: { size, requested } } = history;
  history.kinds ??= kindsOf(history);
  const sums = new Map();
  for (const at of momentOf(history, step).alive) {
    const sum = sums.get(history.kinds[at]);
    if (sum) ((sum.count += 1), (sum.size += size[at]), (sum.requested += requested[at]));
    else sums.set(history.kinds[at], { at, count: 1, size: size[at], requested: requested[at] });
  }
  return [...sums.values()].sort((a, b) => b.size - a.size);
}

// A number for each combination of description and size.
function kindsOf({ columns: { stack, text, size } }) {
  const numbers = new Map();
  return Int32Array.from(stack ?? text, (each, at) => {
    const key = each * 2 ** 40 + size[at];
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    return numbers.get(key);
  });
}
