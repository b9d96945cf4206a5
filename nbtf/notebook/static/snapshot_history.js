// The memory of a device in a snapshot, as snapshots/memory.py writes it: columns of pieces by address, stacks, and ways to group.

import { historyWithLevels } from "./memory_pieces.js";
import { decoded } from "./packed_numbers.js";

const NUMBERS = { start: Float64Array, size: Float64Array, requested: Float64Array, birth: Uint32Array, death: Uint32Array, stack: Int32Array, stream: Float64Array };

// The history with its columns, and its first way to group.
export function snapshotHistory(data) {
  const columns = Object.fromEntries(Object.entries(NUMBERS).map(([name, type]) => [name, decoded(data.pieces[name], type)]));
  const groupings = data.groupings.map((grouping) => ({ ...grouping, of: decoded(grouping.of, Uint8Array) }));
  const extents = data.extents.map(([region, start, size, birth, death]) => ({ region, start, size, birth, death }));
  const describe = (at) => describedByLine(data.lines, columns.stack[at]);
  const history = historyWithLevels({ ...data, columns, groupings, extents, describe, isOlder: (at) => !data.allocatedFirst.includes(at) });
  groupColumns(history, 0);
  return history;
}

function describedByLine(lines, stack) {
  const line = lines.at(stack);
  const title = line === lines.at(-1) ? "" : line; // the last line is that of pieces without a stack, which their size describes
  return { title, line, shape: "", fate: "", seq: 0 };
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
