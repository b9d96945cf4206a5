// The stack of a piece: every frame that its file has, the innermost first; neighbouring frames of libraries are folded.

import { h } from "./dom.js";
import { WORDS, fill } from "./words.js";

// The list of a piece's frames; null if only its line is known, which the text about the piece contains.
export function framesOfPiece(history, { stack }) {
  if (!history.stacks || stack < 0) return null;
  const [frames, leftOut] = [history.stacks[stack], history.framesLeftOut?.[stack] ?? 0];
  const own = (history.ownFrames &&= new Set(history.ownFrames));
  const runs = [];
  for (const at of frames) {
    const isOwn = own.has(at);
    if (runs.length && !isOwn && !runs.at(-1).isOwn) runs.at(-1).frames.push(history.frames[at]);
    else runs.push({ isOwn, frames: [history.frames[at]] });
  }
  const more = leftOut ? [h("li", null, fill(WORDS.snapshot.framesLeftOut, { n: leftOut }))] : [];
  return h("ol", { class: "nbtf-plane-stack" }, runs.map(runItem), more);
}

function runItem({ isOwn, frames }) {
  if (isOwn || frames.length < 2) return h("li", { class: isOwn ? "nbtf-own-frame" : null }, frames[0]);
  const summary = h("summary", null, fill(WORDS.snapshot.libraryFrames, { n: frames.length }));
  return h("li", null, h("details", null, summary, h("ol", null, frames.map((frame) => h("li", null, frame)))));
}
