// The memory of a device in a recording, as stills/memory_data.py writes it: rows of pieces.

import { ROWS } from "./measures.js";
import { historyWithLevels } from "./memory_pieces.js";
import { recordedGroups } from "./piece_groups.js";
import { snapshotHistory } from "./snapshot_history.js";

const TEXTS = ["title", "shape", "line", "fate"];

// The history of a recording or of a snapshot.
export function historyOf(data) {
  return data.groupings ? snapshotHistory(data) : recordedHistory(data);
}

function recordedHistory({ pieces: rows, extents, texts, ...data }) {
  const column = (name) => Float64Array.from(rows, (row) => row[ROWS.piece.indexOf(name)]);
  const [groups, keys] = [recordedGroups(), Object.keys(recordedGroups())];
  const groupOf = Uint8Array.from(rows, (row) => keys.indexOf(texts[row[ROWS.piece.indexOf("group")]]));
  const columns = { start: column("start"), size: column("size"), requested: column("requested"), birth: column("birth"), death: column("death"), seq: column("seq"), text: numbered(rows, ["title", "shape", "line"]), madeIn: column("line") };
  const describe = (at) => Object.fromEntries(TEXTS.map((name) => [name, texts[rows[at][ROWS.piece.indexOf(name)]]]));
  const regions = extents.map((row) => Object.fromEntries(ROWS.extent.map((name, number) => [name, row[number]])));
  const present = new Set(groupOf);
  return historyWithLevels({ ...data, columns, groups: Object.values(groups), groupOf, present, extents: regions, describe, isOlder: (at) => !columns.seq[at] });
}

// A number for each combination of some texts.
function numbered(rows, names) {
  const numbers = new Map();
  const of = names.map((name) => ROWS.piece.indexOf(name));
  return Float64Array.from(rows, (row) => {
    const key = of.map((column) => row[column]).join();
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    return numbers.get(key);
  });
}
