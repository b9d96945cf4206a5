// The common selection of a scene's views: what a reader chooses in one view is chosen in all others that contain it.
//
// A selection is {op} or {copy}, as in the timeline, or {device, piece}. It is part of the views' shared state, with the scene.

import { allPieces } from "./memory_pieces.js";
import { search } from "./timeline_index.js";

// Another view's selection that a view has not adopted yet; undefined if there is none.
export function newSelection(view, { selection }) {
  if (!selection || view.selection === selection) return null;
  view.selection = selection;
  return selection;
}

export function select(view, shared, selection) {
  view.selection = shared.selection = selection;
}

// The op or copy for which a piece was created: the next one on its device that ended afterwards.
export function makerOf({ lanes, ops, copies }, { device, piece }) {
  const lane = lanes.find(({ name }) => name === device);
  if (!lane || !piece.seq || !ops.seq) return null; // summed-up data has no single ops
  const op = search(lane.first, lane.last, (at) => ops.seq[at] > piece.seq);
  const copy = lane.copies.find((at) => copies.target[at] === lane.number && copies.seq[at] > piece.seq);
  if (op === lane.last) return copy === undefined ? null : { copy };
  return copy !== undefined && copies.seq[copy] < ops.seq[op] ? { copy } : { op };
}

// The device and the largest piece that an op or a copy created; undefined if it created none.
export function madeBy(scene, histories, chosen) {
  if (!scene.ops.seq) return null;
  const lane = scene.lanes[chosen.op === undefined ? scene.copies.target[chosen.copy] : laneNumber(scene, chosen.op)];
  const history = histories.find(({ name }) => name === lane.name);
  const isSame = (maker) => maker && maker.op === chosen.op && maker.copy === chosen.copy;
  const seq = chosen.op === undefined ? scene.copies.seq[chosen.copy] : scene.ops.seq[chosen.op];
  const near = history && allPieces(history).filter((piece) => piece.seq < seq && isSame(makerOf(scene, { device: lane.name, piece })));
  const piece = (near || []).reduce((best, each) => (best && best.size >= each.size ? best : each), null);
  return piece && { history, piece };
}

// The names of the devices of a selection: one, or both ends of a copy.
export function devicesOf({ lanes, copies }, selection) {
  if (selection.device) return [selection.device];
  if (selection.op === undefined) return [lanes[copies.source[selection.copy]].name, lanes[copies.target[selection.copy]].name];
  return [lanes[laneNumber({ lanes }, selection.op)].name];
}

function laneNumber({ lanes }, op) {
  return lanes.findIndex(({ first, last }) => first <= op && op < last);
}
