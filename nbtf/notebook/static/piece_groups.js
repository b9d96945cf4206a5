// The groups by which pieces of memory are coloured and stacked: {name, fill}, in the order of a stack, from below. Each piece
// refers to its group.

import { FILLS } from "./measures.js";
import { WORDS } from "./words.js";

// The groups of a recording, by the key that Python writes.
export function recordedGroups() {
  return Object.fromEntries(Object.entries(FILLS.ofGroup).map(([key, fill]) => [key, { name: WORDS.memoryPicture[key], fill }]));
}
