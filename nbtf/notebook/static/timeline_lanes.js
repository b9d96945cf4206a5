// How is a device's time drawn: blocks, copies, and what belongs together? What stills/lanes.py does for Python.

import { fitted, line, path, rectangle, text, textOn, widthOf, widthOfText } from "./picture.js";
import { columnWidth, durationWords, sizeWords, stack } from "./time_scale.js";
import { BUSY_TOKENS, COPY_TOKEN, copiesIn, copyIsFolded, factOf, opIsFolded, opsIn } from "./timeline_scene.js";
import { fill } from "./words.js";

const OWN_BLOCK = 2;
const TITLED = 4;
const NAMED = 26;
const SHAPED = 70;
const GROUP_GAP = 1 / 30;
const UNDERLINED = ["forward", "backward", "update"];

// What of a lane is seen through a scale: its ops as a range, its copies as a list.
export function laneIn(scene, lane, scale) {
  const [first, last] = opsIn(scene, lane, scale);
  return { ...lane, first, last, copies: copiesIn(scene, lane, scale) };
}

function hasWidth(columns, number, scale) {
  return scale.at(columns.start[number] + columns.seconds[number]) - scale.at(columns.start[number]) >= OWN_BLOCK;
}

export function opHasBlock(scene, op, scale) {
  return hasWidth(scene.ops, op, scale) && !opIsFolded(scene, op);
}

export function copyHasBlock(scene, copy, scale) {
  return hasWidth(scene.copies, copy, scale) && !copyIsFolded(scene, copy);
}

// How wide the columns are that show pieces without a block, in px.
export function densityWidth(scene, lanes, scale) {
  let columns = 0;
  for (const lane of lanes) {
    const seen = new Uint8Array(Math.ceil(scale.end) + 2);
    const see = (start) => {
      const x = Math.trunc(scale.inside(start));
      if (!seen[x]) (columns++, (seen[x] = 1));
    };
    for (let op = lane.first; op < lane.last; op++) {
      if (scene.ops.seconds[op] && !opHasBlock(scene, op, scale)) see(scene.ops.start[op]);
    }
    for (const copy of lane.copies) {
      if (scene.copies.seconds[copy] && !copyHasBlock(scene, copy, scale)) see(scene.copies.start[copy]);
    }
  }
  return columnWidth(columns, scale.width * scene.lanes.length);
}

// A block for each op that is wide enough, and how busy the lane was besides, copies included.
export function opMarks(scene, lane, scale, step) {
  const { start, seconds, fact } = scene.ops;
  const short = stack(scale, lane.y, lane.height, step, BUSY_TOKENS);
  const marks = [];
  for (const copy of lane.copies) {
    if (copyHasBlock(scene, copy, scale)) continue;
    short.add(scene.copies.start[copy], scene.copies.start[copy] + scene.copies.seconds[copy], COPY_TOKEN);
  }
  for (let op = lane.first; op < lane.last; op++) {
    if (opHasBlock(scene, op, scale)) marks.push(...blockMarks(scene, op, lane, scale));
    else if (seconds[op]) short.add(start[op], start[op] + seconds[op], scene.facts[fact[op]].busy);
  }
  return [...marks, ...short.boxes()];
}

function blockMarks(scene, op, lane, scale) {
  const { start, seconds } = scene.ops;
  const { op: type, token, shape: whole } = factOf(scene, op);
  const [x, end] = [scale.inside(start[op]), scale.inside(start[op] + seconds[op])];
  const [width, middle] = [end - x, lane.y + lane.height / 2];
  const title = width >= TITLED ? `${type}, ${lane.name}: ${durationWords(seconds[op])}` : "";
  const edge = { stroke: width > 3 ? "paper" : "", strokeWidth: 0.8 };
  const block = rectangle(x, lane.y, width, lane.height, token, { ...edge, title, data: { op } });
  const name = width >= NAMED ? fitted(type, width - 8, 11, 600, true) : "";
  if (!name) return [block];
  const shape = width >= SHAPED && widthOf(whole, 11, 400, true) <= width - 8 ? whole : "";
  const ink = { fill: textOn(token), size: 11, mono: true };
  const label = text(x + 4, middle + (shape ? -3 : 4), name, { ...ink, weight: 600 });
  return shape ? [block, label, text(x + 4, middle + 12, shape, ink)] : [block, label];
}

// A line below each group of ops, and its name where it fits: a phase, or a line of the program.
export function groupMarks(scene, lane, scale, words) {
  const spans = spansOf(scene, lane, scale);
  const below = lane.y + lane.height;
  return spans.flatMap((span, number) => {
    const [x, end] = [scale.inside(span.start), scale.inside(span.end)];
    if (end - x < 5) return [];
    const following = spans[number + 1] ? scale.inside(spans[number + 1].start) : scale.end + 8;
    const room = following - x - 8;
    const name = scene.byPhase ? words[span.fact.phase] : room >= SHAPED ? fitted(scene.lines[span.fact.site], room, 11) : "";
    const under = rectangle(x, below + 2, end - x, 3, scene.byPhase ? span.fact.token : "line", { radius: 1.5 });
    const label = text(x, below + 16, name, { fill: "soft", size: 11, halo: true });
    return name && widthOfText(label) <= room ? [under, label] : [under];
  });
}

function spansOf(scene, lane, scale) {
  const groupOf = (fact) => (scene.byPhase ? (UNDERLINED.includes(fact.phase) ? fact.phase : null) : fact.site < 0 ? null : fact.site);
  const spans = [];
  let span = null;
  for (let op = lane.first; op < lane.last; op++) {
    if (opIsFolded(scene, op)) continue;
    const start = scene.ops.start[op];
    const end = start + scene.ops.seconds[op];
    const fact = factOf(scene, op);
    const group = groupOf(fact);
    if (span && span.group === group && start - span.end < GROUP_GAP * scale.seconds) span.end = end;
    else if (group === null) span = null;
    else spans.push((span = { start, end, fact, group }));
  }
  return spans;
}

// A ribbon for each copy, from lane to lane and as wide as it lasts, and a box at both of its ends.
export function copyMarks(scene, lanes, scale, words) {
  const byNumber = new Map(lanes.map((lane) => [lane.number, lane]));
  const drawn = [...new Set(lanes.flatMap((lane) => lane.copies))].filter((copy) => copyHasBlock(scene, copy, scale)).sort((a, b) => a - b);
  const ends = drawn
    .map((copy) => ({ copy, source: byNumber.get(scene.copies.source[copy]), target: byNumber.get(scene.copies.target[copy]), ...sidesOf(scene, copy, scale) }))
    .filter(({ source, target }) => source && target);
  const boxes = lanes.flatMap((lane) => lane.copies.filter((copy) => copyHasBlock(scene, copy, scale)).flatMap((copy) => boxMarks(scene, copy, lane, scale, words)));
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

// A copy in words: "GPU:0 → GPU:1: 919 KiB, 160 µs".
export function copySentence(scene, copy) {
  const { source, target, nbytes, seconds } = scene.copies;
  const name = (number) => scene.lanes[number].name;
  return `${name(source[copy])} → ${name(target[copy])}: ${sizeWords(nbytes[copy])}, ${durationWords(seconds[copy])}`;
}

function boxMarks(scene, copy, lane, scale, words) {
  const { x, end } = sidesOf(scene, copy, scale);
  const title = end - x >= TITLED ? copySentence(scene, copy) : "";
  const edge = { stroke: "cpy", strokeWidth: 0.8, radius: 2 };
  const box = rectangle(x, lane.y, end - x, lane.height, "cpyf", { ...edge, title, data: { copy } });
  if (lane.host) return [box];
  const outgoing = scene.copies.source[copy] === lane.number;
  const partner = scene.lanes[scene.copies[outgoing ? "target" : "source"][copy]];
  const name = fill(words[outgoing ? "to" : "from"], { name: partner.host ? words.host : partner.name });
  const [middle, center, size] = [lane.y + lane.height / 2, (x + end) / 2, sizeWords(scene.copies.nbytes[copy])];
  const ink = { fill: "on-cpyf", size: 11, anchor: "middle" };
  const both = [text(center, middle - 2, name, { ...ink, weight: 600 }), text(center, middle + 12, size, ink)];
  const alone = [text(center, middle + 4, size, ink)];
  const texts = [both, alone].find((labels) => Math.max(...labels.map(widthOfText)) + 8 <= end - x);
  return [box, ...(texts || [])];
}
