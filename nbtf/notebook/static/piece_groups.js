// The groups by which pieces of memory are coloured and stacked: {name, fill}, in the order of a stack, from below. Each piece
// refers to its group.

import { WORDS } from "./words.js";

const GROUP_FILLS = { weights: "wgt", "optimizer slots": "upd", "Python names": "py", activations: "fwd", gradients: "bwd", temporary: "tmp" };

// The groups of a recording, by the key that Python writes.
export function recordedGroups() {
  return Object.fromEntries(Object.entries(GROUP_FILLS).map(([key, fill]) => [key, { name: WORDS.memoryPicture[key], fill }]));
}
