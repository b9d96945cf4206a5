// The moment that all views of a page share: the number of the last event that has happened.
//
// A reader who moves one view in time moves the others: the tabs of a recording, and the replay of a live view. These are
// different programs, which know each other's moments through the window.

import { search } from "./timeline_index.js";

const MOMENT = "nbtf-moment";
const BIRTHS = new WeakMap(); // the history of a memory -> event and step of the births of its pieces, in order

// Tells other views that the one in `root` shows the moment of an event.
export function shareMoment(root, seq) {
  window.dispatchEvent(new CustomEvent(MOMENT, { detail: { seq, root } }));
}

// Calls `take` with the moments that other views share.
export function followMoments(root, take) {
  root.nbtfTakeMoment = take;
  const kept = new WeakRef(root); // a view that is gone needs no moments
  const listen = ({ detail }) => {
    const here = kept.deref();
    if (!here) window.removeEventListener(MOMENT, listen);
    else if (detail.root !== here) here.nbtfTakeMoment(detail.seq);
  };
  window.addEventListener(MOMENT, listen);
}

// The seconds of a timeline at which an event had happened; null if the scene does not contain it.
export function secondsAt(scene, seq) {
  if (!scene.ops.seq || !scene.copies.seq) return null; // summed-up data has no single ops
  scene.ends ??= endsOf([scene.ops, scene.copies]);
  const after = search(0, scene.ends.length, (at) => scene.ends[at][0] > seq);
  const isInside = after && (after < scene.ends.length || scene.ends.at(-1)[0] === seq);
  return isInside ? scene.ends[after - 1][1] : null;
}

function endsOf(columns) {
  return columns.flatMap(({ seq, start, seconds }) => Array.from(seq, (number, at) => [number, start[at] + seconds[at]])).sort((a, b) => a[0] - b[0]);
}

// The step of a device's memory at which an event had happened, and the event of a step; null if unknown, or if the event belongs
// to another recording than that of a timeline.
export function stepAtEvent(history, seq, scene) {
  const births = birthsOf(history);
  const after = search(0, births.length, (at) => births[at].seq > seq);
  const isInside = after && (after < births.length || births[after - 1].seq === seq || (scene && secondsAt(scene, seq) !== null));
  return isInside ? births[after - 1].birth : null;
}

export function eventAtStep(history, step) {
  const births = birthsOf(history);
  const after = search(0, births.length, (at) => births[at].birth > step);
  return after ? births[after - 1].seq : null;
}

function birthsOf(history) {
  const { seq = [], birth } = history.columns;
  if (!BIRTHS.has(history)) BIRTHS.set(history, Array.from(seq, (number, at) => ({ seq: number, birth: birth[at] })).filter((each) => each.seq).sort((a, b) => a.birth - b.birth));
  return BIRTHS.get(history);
}
