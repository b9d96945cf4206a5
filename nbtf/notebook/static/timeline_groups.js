// How busy several devices were on average, as one row: all of them in the overview, or those of a group, such as a host.
//
// With many devices, a timeline has a row for each group (see stills/lane_groups.py), and below it its devices if it is open.

import { rectangle } from "./picture.js";
import { stack } from "./time_scale.js";
import { BUSY_TOKENS, COPY_TOKEN, addGroup, groupsOf, rangeIn } from "./timeline_index.js";
import { copiesIn } from "./timeline_scene.js";
import { shareOf } from "./timeline_sums.js";

// The rows of a scene in order, each {lane} or {group, isOpen}, as numbers; `open` are the numbers of the open groups.
export function rowsOf({ lanes, groups }, open) {
  const groupOf = new Map(groups.flatMap(({ lanes: members, number }) => members.map((lane) => [lane, number])));
  const rows = lanes.filter(({ number }) => !groupOf.has(number)).map(({ number }) => ({ lane: number }));
  for (const { number, lanes: members } of groups) rows.push({ group: number, isOpen: open.has(number) }, ...(open.has(number) ? members.map((lane) => ({ lane })) : []));
  return rows;
}

// The boxes of the load of some lanes on average; `summed` are the sums of many ops, if the page lacks the ops themselves.
export function meanMarks(scene, lanes, scale, place, summed, row = 0) {
  const busy = stack(scale, place.y, place.height, place.step, BUSY_TOKENS, 0, summed ? 1 : 1 / (lanes.length || 1));
  if (summed) for (const sums of summed) addSums(busy, sums, row);
  else for (const lane of lanes) addLane(busy, scene, lane, scale);
  return busy.boxes();
}

function addSums(busy, { from, width, columns, rows, busy: shares, unit }, row) {
  rows.forEach(([of, token], number) => {
    if (of !== row) return;
    for (let column = 0; column < columns; column++) {
      const start = from + column * width;
      busy.add(start, start + width, BUSY_TOKENS.indexOf(token), shares[number * columns + column] / unit);
    }
  });
}

function addLane(busy, scene, lane, scale) {
  const { start, seconds } = scene.copies;
  for (const group of groupsOf(scene, lane)) addGroup(scene, busy, group, rangeIn(scene, group, scale));
  for (const copy of copiesIn(scene, lane, scale)) busy.add(start[copy], start[copy] + seconds[copy], COPY_TOKEN, shareOf(scene.copies, copy));
}

// The row of a group. What a search found (`found`) is bright, all other ops are dimmed by `look`.
export function groupRowMarks(scene, group, scale, step, found, look) {
  const { y, height } = group;
  const lanesIn = (of) => group.lanes.map((number) => of.lanes[number]);
  const ground = rectangle(scale.begin, y, scale.width, height, "tint", { radius: 3 });
  const all = meanMarks(scene, lanesIn(scene), scale, { y, height, step }, scene.groupSums, group.number);
  const bright = found && !scene.groupSums ? meanMarks(found, lanesIn(found), scale, { y, height, step }) : [];
  return [ground, ...all.map(look), ...bright];
}
