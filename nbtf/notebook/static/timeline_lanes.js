// Draws a device's time: blocks, copies, and groups of ops that belong together.

import { shortInCluster } from "./map_flows.js";
import { FILLS, TIMELINE } from "./measures.js";
import { fitted, line, path, rectangle, text, textOn, widthOf, widthOfText } from "./picture.js";
import { columnWidth, durationWords, sizeWords, stack } from "./time_scale.js";
import { BUSY_TOKENS, CLASSES, COPY_TOKEN, addGroup, byKey, classesOf, groupsOf, longestOfClass, rangeIn, search } from "./timeline_index.js";
import { copiesIn, copyIsFolded, factOf, opIsFolded, opsIn } from "./timeline_scene.js";
import { BLOCK } from "./timeline_sizes.js";
import { shareOf } from "./timeline_sums.js";
import { fill } from "./words.js";

const LEAST_HEIGHT = 4; // px on the clock of the host, where the work of a device may last for a millionth of the picture

// The visible part of a lane: its ops as a range, its copies as a list.
export function laneIn(scene, lane, scale) {
  const [first, last] = opsIn(scene, lane, scale);
  return { ...lane, first, last, copies: copiesIn(scene, lane, scale) };
}

function hasWidth(columns, number, scale) {
  if (columns.seconds[number] * scale.rate < BLOCK.own - 0.2) return false; // quick exit: true for most of many
  return scale.at(columns.start[number] + columns.seconds[number]) - scale.at(columns.start[number]) >= BLOCK.own;
}

export function opHasBlock(scene, op, scale) {
  return hasWidth(scene.ops, op, scale) && !opIsFolded(scene, op);
}

export function copyHasBlock(scene, copy, scale) {
  return hasWidth(scene.copies, copy, scale) && !copyIsFolded(scene, copy);
}

// The width in px of the columns that show pieces without a block.
export function densityWidth(scene, lanes, scale, most) {
  let columns = 0;
  const { start, seconds } = scene.ops;
  for (const lane of lanes) {
    const seen = new Uint8Array(Math.ceil(scale.end) + 2);
    const see = (moment) => {
      const x = Math.trunc(scale.inside(moment));
      if (!seen[x]) (columns++, (seen[x] = 1));
    };
    for (let op = lane.first; op < lane.last && columns <= most; op++) {
      if (!seconds[op] || opHasBlock(scene, op, scale)) continue;
      see(start[op]);
      const end = scale.moment(Math.trunc(scale.inside(start[op])) + 0.9); // of the column that was just found
      if (start[op + 1] < end) op = search(op + 1, lane.last, (other) => start[other] >= end) - 1;
    }
    for (const copy of lane.copies) {
      if (scene.copies.seconds[copy] && !copyHasBlock(scene, copy, scale)) see(scene.copies.start[copy]);
    }
  }
  return columnWidth(columns, scale.width * lanes.length, most);
}

// A block for each op that is wide enough, the load from all others including copies, and the number of ops without a block.
export function opMarks(scene, lane, scale, step) {
  const { start, seconds } = scene.ops;
  const short = stack(scale, lane.y, lane.height, step, BUSY_TOKENS, scene.clock === "hostTime" ? LEAST_HEIGHT : 0);
  const blocks = [];
  let dense = 0;
  for (const copy of lane.copies) {
    if (copyHasBlock(scene, copy, scale)) continue;
    short.add(scene.copies.start[copy], scene.copies.start[copy] + scene.copies.seconds[copy], COPY_TOKEN, shareOf(scene.copies, copy));
  }
  for (const group of groupsOf(scene, lane)) {
    const [first, last] = rangeIn(scene, group, scale);
    dense += group.folded ? 0 : last - first;
    if (group.folded || group.longest * scale.rate < BLOCK.own - 0.2) {
      addGroup(scene, short, group, [first, last]);
      continue;
    }
    for (const op of group.ops.subarray(first, last)) {
      if (opHasBlock(scene, op, scale)) blocks.push(op);
      else short.add(start[op], start[op] + seconds[op], group.token);
    }
  }
  const marks = blocks.sort((a, b) => a - b).flatMap((op) => blockMarks(scene, op, lane, scale));
  return { marks: [...marks, ...short.boxes()], dense: dense - blocks.length };
}

function blockMarks(scene, op, lane, scale) {
  const { start, seconds } = scene.ops;
  const { op: type, token, shape: whole } = factOf(scene, op);
  const [x, end] = [scale.inside(start[op]), scale.inside(start[op] + seconds[op])];
  const [width, middle] = [end - x, lane.y + lane.height / 2];
  const title = width >= BLOCK.titled ? `${type}, ${lane.name}: ${durationWords(seconds[op])}` : "";
  const edge = { stroke: width > 3 ? "paper" : "", strokeWidth: 0.8 };
  const block = rectangle(x, lane.y, width, lane.height, token, { ...edge, title, data: { op } });
  const name = width >= BLOCK.named ? fitted(type.split("::").at(-1), width - 8, 11, 600, true) : ""; // without its library
  if (!name) return [block];
  const shape = width >= BLOCK.shaped && lane.height >= BLOCK.twoLines && widthOf(whole, 11, 400, true) <= width - 8 ? whole : "";
  const ink = { fill: textOn(token), size: 11, mono: true };
  const label = text(x + 4, middle + (shape ? -3 : 4), name, { ...ink, weight: 600 });
  return shape ? [block, label, text(x + 4, middle + 12, shape, ink)] : [block, label];
}

// A line below each group of ops, with its name if it fits: a phase, or a line of the program.
export function groupMarks(scene, lane, scale, words) {
  const below = lane.y + lane.height;
  return spansOf(scene, lane, scale).flatMap(({ start, end, following, phase, line: code }) => {
    const [x, stop] = [scale.inside(start), scale.inside(end)];
    if (stop - x < 5) return [];
    const room = (following === null ? scale.end + 8 : scale.inside(following)) - x - 8;
    const name = scene.byPhase ? words[phase] : room >= BLOCK.shaped ? fitted(code, room, 11) : "";
    const under = rectangle(x, below + 2, stop - x, 3, scene.byPhase ? FILLS.ofPhase[phase] : "line", { radius: 1.5 });
    const label = text(x, below + 16, name, { fill: "soft", size: 11, halo: true, fixed: true });
    return name && widthOfText(label) <= room ? [under, label] : [under];
  });
}

// The groups that overlap a window and are long enough to be drawn, each with the start of the next one.
function spansOf(scene, lane, scale) {
  if (scene.spans) return longSpansOf(scene, lane, scale);
  const whole = scene.lanes[lane.number];
  whole.spans ??= allSpans(scene, whole);
  const { start, end, following, first, bySize } = whole.spans;
  const seen = [];
  for (const [longest, members] of bySize) {
    if (longest * scale.rate < 4.8) continue;
    const begin = search(0, members.length, (at) => end[members[at]] >= scale.from);
    const stop = search(begin, members.length, (at) => start[members[at]] > scale.to);
    seen.push(...members.subarray(begin, stop));
  }
  return seen.sort((a, b) => a - b).map((span) => {
    const next = following[span];
    const { phase, site } = factOf(scene, first[span]);
    return { start: start[span], end: end[span], following: next > scale.to || next < 0 ? null : next, phase, line: scene.lines[site] };
  });
}

// Those of a long recording, whose ops are not all here (see stills/long_timeline.py).
function longSpansOf({ spans }, lane, scale) {
  return spans
    .filter(([number, start, end]) => number === lane.number && start <= scale.to && end >= scale.from)
    .map(([, start, end, following, phase, code]) => ({ start, end, following, phase, line: code }));
}

// All groups of a lane in order of time, as columns, and their numbers by size: there may be as many as a million ops.
function allSpans(scene, lane) {
  const groups = scene.facts.map(({ phase, site }) => (scene.byPhase ? TIMELINE.underlined.indexOf(phase) : site));
  const { start, seconds, fact } = scene.ops;
  const gap = TIMELINE.gap * scene.seconds;
  const most = lane.last - lane.first;
  const spans = { start: new Float64Array(most), end: new Float64Array(most), following: new Float64Array(most).fill(-1), first: new Uint32Array(most) };
  let [count, current, waits] = [-1, -1, false];
  for (let op = lane.first; op < lane.last; op++) {
    if (scene.isFolded[op]) continue;
    const group = groups[fact[op]];
    if (group !== current || start[op] - spans.end[count] >= gap) {
      current = group;
      if (group < 0) continue;
      if (waits) spans.following[count] = start[op];
      waits = true;
      spans.start[++count] = start[op];
      spans.first[count] = op;
    }
    if (group >= 0) spans.end[count] = start[op] + seconds[op];
  }
  const lengths = new Float64Array(count + 1);
  for (let at = 0; at <= count; at++) lengths[at] = spans.end[at] - spans.start[at];
  const sizes = classesOf(lengths);
  const bySize = byKey(count + 1, CLASSES, (at) => sizes[at]);
  return { ...spans, bySize: bySize.map(([size, members]) => [longestOfClass(size), members]) };
}

// A ribbon for each copy from lane to lane, as wide as its duration, with a box at each end.
export function copyMarks(scene, lanes, scale, words) {
  const byNumber = new Map(lanes.map((lane) => [lane.number, lane]));
  const wide = lanes.map((lane) => lane.copies.filter((copy) => copyHasBlock(scene, copy, scale)));
  const drawn = [...new Set(wide.flat())].sort((a, b) => a - b);
  const ends = drawn
    .map((copy) => ({ copy, source: byNumber.get(scene.copies.source[copy]), target: byNumber.get(scene.copies.target[copy]), ...sidesOf(scene, copy, scale) }))
    .filter(({ source, target }) => source && target);
  const boxes = lanes.flatMap((lane, number) => wide[number].flatMap((copy) => boxMarks(scene, copy, lane, scale, words)));
  return [...ends.map(ribbonMark), ...ends.flatMap(arrowMarks), ...boxes];
}

function sidesOf(scene, copy, scale) {
  const start = scene.copies.start[copy];
  return { x: scale.inside(start), end: scale.inside(start + scene.copies.seconds[copy]) };
}

function ribbonMark({ source, target, x, end }) {
  const [first, second] = source.y <= target.y ? [source, target] : [target, source];
  const [top, bottom] = [first.y + first.height, second.y];
  return path([[x, top], [x, bottom], [end, bottom], [end, top]], { fill: "cpyf", opacity: source.host ? 0.16 : 0.3, closed: true });
}

function arrowMarks({ source, target, x, end }) {
  if (end - x <= 8) return [];
  const down = source.y < target.y;
  const middle = (x + end) / 2;
  const stop = down ? target.y - 4 : target.y + target.height + 4;
  const far = down ? source.y + source.height + 3 : source.y - 3;
  const near = down ? stop - 13 : stop + 13; // all cards are fed at once: a long arrow would hide the others
  return [line(middle, source.host ? near : far, middle, stop, { stroke: "cpy", width: 1.6, arrow: true })];
}

// Describes a copy: "GPU:0 → GPU:1: 919 KiB, 160 µs".
export function copySentence(scene, copy) {
  const { source, target, nbytes, seconds } = scene.copies;
  const name = (number) => scene.lanes[number].name;
  return `${name(source[copy])} → ${name(target[copy])}: ${sizeWords(nbytes[copy])}, ${durationWords(seconds[copy])}`;
}

function boxMarks(scene, copy, lane, scale, words) {
  const { x, end } = sidesOf(scene, copy, scale);
  const title = end - x >= BLOCK.titled ? copySentence(scene, copy) : "";
  const edge = { stroke: "cpy", strokeWidth: 0.8, radius: 2 };
  const box = rectangle(x, lane.y, end - x, lane.height, "cpyf", { ...edge, title, data: { copy } });
  if (lane.host) return [box];
  const outgoing = scene.copies.source[copy] === lane.number;
  const partner = scene.lanes[scene.copies[outgoing ? "target" : "source"][copy]];
  const name = fill(words[outgoing ? "to" : "from"], { name: partner.host ? words.host : shortInCluster(partner.name) });
  const [middle, center, size] = [lane.y + lane.height / 2, (x + end) / 2, sizeWords(scene.copies.nbytes[copy])];
  const ink = { fill: "on-cpyf", size: 11, anchor: "middle" };
  const both = [text(center, middle - 2, name, { ...ink, weight: 600 }), text(center, middle + 12, size, ink)];
  const alone = [text(center, middle + 4, size, ink)];
  const fits = (labels) => Math.max(...labels.map(widthOfText)) + 8 <= end - x && labels.length * 14 <= lane.height;
  const texts = [both, alone].find(fits);
  return [box, ...(texts || [])];
}
