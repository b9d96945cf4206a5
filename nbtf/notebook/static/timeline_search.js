// What a reader searches for in a timeline: the matching ops and copies, in order of time. The kernel searches long recordings,
// see views/timeline_search.py.

import { filteredScene, spanOfStop, stopOf, stopsOf, toWhole } from "./timeline_scene.js";

// {scene: what matches, as a scene of its own, matches: those that can be chosen, as {op} or {copy} of the searched scene}; null
// without a text.
export function searched(scene, text, words) {
  if (!text) return null;
  const found = filteredScene(scene, text, words);
  const numbers = new Set(found.lanes.flatMap((lane) => [...stopsOf(found, lane)]));
  const matches = [...numbers].map((number) => toWhole(found, stopOf(number)));
  const start = (match) => spanOfStop(scene, match)[0];
  return { scene: found, matches: matches.sort((a, b) => start(a) - start(b)) };
}

export function matchNumber({ matches }, chosen) {
  return chosen ? matches.findIndex(({ op, copy }) => op === chosen.op && copy === chosen.copy) : -1;
}

// The next match in a direction: after the chosen one, otherwise after a moment; the first follows the last.
export function matchBeside(scene, search, chosen, moment, way) {
  const { matches } = search;
  const at = matchNumber(search, chosen);
  const later = matches.findIndex((match) => spanOfStop(scene, match)[0] >= moment);
  const next = at >= 0 ? at + way : way > 0 ? Math.max(later, 0) : (later < 0 ? matches.length : later) - 1;
  return matches.at(next % matches.length);
}
