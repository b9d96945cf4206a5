// The ops of a window as rows of a table.

import { durationWords } from "./time_scale.js";
import { factOf, opIsFolded, opsIn } from "./timeline_scene.js";
import { WORDS, fill } from "./words.js";

const MOST_ROWS = 1000;

export function rowsOfWindow(scene, window) {
  const said = WORDS.timeline;
  const { start, seconds } = scene.ops;
  const seen = scene.lanes.flatMap((lane) => {
    const [first, last] = opsIn(scene, lane, window);
    return Array.from({ length: last - first }, (_, at) => ({ op: first + at, lane })).filter(({ op }) => !opIsFolded(scene, op));
  });
  const rows = seen.slice(0, MOST_ROWS).map(({ op, lane }) => {
    const fact = factOf(scene, op);
    return [fact.op, lane.name, durationWords(start[op]), durationWords(seconds[op]), fact.shape, fact.why, scene.lines[fact.site]];
  });
  const columns = [said.op, said.device, { label: said.start, number: true }, { label: said.time, number: true }, said.shape, said.reason, said.code];
  const left = seen.length - rows.length;
  return { caption: said.title, columns, rows, notes: left ? [fill(said.moreRows, { n: left })] : [] };
}
