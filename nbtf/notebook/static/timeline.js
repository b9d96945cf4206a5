// Draws a window of a recording's timeline: where the time went, and which device waited.

import { flowed } from "./flow.js";
import { shortInCluster } from "./map_flows.js";
import { TIMELINE } from "./measures.js";
import { beginOfText, dimmed, line, path, rectangle, text, widthOf, widthOfText } from "./picture.js";
import { durationWords, sizeWords, stack, timeScale } from "./time_scale.js";
import { copyMarks, copySentence, densityWidth, groupMarks, laneIn, opMarks } from "./timeline_lanes.js";
import { groupRowMarks, meanMarks } from "./timeline_groups.js";
import { BUSY_TOKENS, COPY_TOKEN, addGroup, groupsOf } from "./timeline_index.js";
import { copyShare, factOf, opShare, toWhole } from "./timeline_scene.js";
import { SHEET } from "./timeline_sizes.js";
import { shareOf } from "./timeline_sums.js";
import { fill, grouped } from "./words.js";

const MOST_SHOWN_COLUMNS = 16000; // of all lanes in sight, at the resolution of most screens
const COMPACT = { height: 22, below: 8 };
const LEAST_WIDTH = 256;
const TRACE_CAUSES = { variables: "traceVariables", replica: "traceReplica", failure: "traceFailure" }; // traces that no argument caused
const OVERVIEWS = new WeakMap(); // scene -> {key, marks}: the overview changes only with the width and the search

// The picture of what lies between `from` and `to`, in seconds, with the positions of its parts (see `parts`).
// `chosen` is {op} or {copy}; the default is the op that took the most time. `found` is the part of the scene that matches a
// search: everything else is dimmed. `rows` are the devices and groups in sight (see rowsOf), if there are so many devices that
// they scroll; the default are the first devices, as in a still picture. `fine` draws more columns than that has.
export function timeline(scene, { from, to, chosen, found, rows: scrolled, fine }, width, words) {
  const sheet = { scene, found, words, scrolled, most: fine ? MOST_SHOWN_COLUMNS : SHEET.mostColumns, width: Math.max(width, LEAST_WIDTH), marks: [], y: 0, dense: 0, chosen: chosen || scene.longest };
  sheet.right = sheet.width - SHEET.margin;
  sheet.clock = words[scene.clock];
  const window = { from, to };
  sheet.drawn = scrolled ? scrolled.map(({ lane, group, isOpen }) => (group === undefined ? scene.lanes[lane] : { ...scene.groups[group], isOpen })) : scene.lanes.slice(0, TIMELINE.mostUngrouped);
  sheet.labels = sheet.drawn.map((row) => (row.isGroup ? groupLabels(sheet, row) : laneLabels(sheet, laneIn(scene, row, window), window)));
  const texts = [...sheet.labels.flat(), ...overviewLabels(sheet)];
  const begin = Math.max(SHEET.labels, ...texts.map((label) => SHEET.margin + widthOfText(label) + 12));
  sheet.whole = timeScale(begin, sheet.right, 0, scene.seconds);
  sheet.scale = timeScale(begin, sheet.right, from, to);
  addHead(sheet);
  const overview = addOverview(sheet);
  const rows = addBody(sheet);
  const foot = sheet.y;
  addFoot(sheet);
  const height = Math.round(sheet.y + SHEET.margin);
  const frame = rectangle(0.5, 0.5, sheet.width - 1, height - 1, "", { stroke: "hair", radius: 8 });
  const parts = { overview, rows, lanes: rows.filter((row) => !row.isGroup), scale: sheet.scale, whole: sheet.whole, dense: sheet.dense, foot: [foot, height - foot] };
  return { width: sheet.width, height, title: aboutScene(sheet), marks: [frame, ...sheet.marks], parts };
}

function aboutScene({ scene, words, clock, labels, drawn }) {
  const about = labels.map((texts, number) => (drawn[number].host ? "" : `${texts[0].words}: ${texts.slice(1).map((one) => one.words).join(", ")}`));
  return fill(words.about, { seconds: durationWords(scene.seconds), clock, lanes: about.filter(Boolean).join("; ") });
}

// Head

function addHead(sheet) {
  const { scene, words, right, marks } = sheet;
  const title = text(SHEET.margin, 28, words.title, { size: 15, weight: 650 });
  const begin = title.x + widthOfText(title) + 12;
  const state = text(begin + 17, 27, words.ended, { fill: "soft", size: 11, weight: 600 });
  const pill = rectangle(begin, 14, widthOfText(state) + 25, 18, "", { stroke: "line", radius: 9, isTag: true });
  marks.push(title, pill, rectangle(begin + 7, 20, 6, 6, "line", { radius: 3, isTag: true }), state);
  sheet.y = 28;
  const keys = scene.keys.map(([name, token]) => [token, words[name]]);
  if (scene.copies.start.length) keys.push(["cpyf", words.copy]);
  const honest = words[{ modelled: "simulated", hostTime: "hostHonest" }[scene.clock] ?? "real"];
  const honestX = begin + widthOfText(state) + 37;
  const needed = keys.reduce((sum, [, name]) => sum + 29 + widthOf(name, 11), 0) - 14;
  const fits = honestX + widthOf(honest, 12) <= right;
  if (fits) marks.push(text(honestX, 27, honest, { fill: "soft", required: true }));
  if (honestX + widthOf(honest, 12) + 20 + needed <= right) return addKeys(sheet, right - needed, keys);
  if (!fits) addFlow(sheet, [text(0, 0, honest, { fill: "soft", required: true })]);
  sheet.y += 20;
  addKeys(sheet, SHEET.margin, keys);
}

function addKeys(sheet, begin, keys) {
  let x = begin;
  for (const [token, name] of keys) {
    const label = () => text(x + 15, sheet.y - 1, name, { fill: "soft", size: 11 });
    if (x + 15 + widthOfText(label()) > sheet.right + 0.5) {
      sheet.y += 18;
      x = SHEET.margin;
    }
    const edge = { stroke: token === "cpyf" ? "cpy" : "", strokeWidth: 0.8, radius: 2 };
    sheet.marks.push(rectangle(x, sheet.y - 10, 10, 10, token, edge), label());
    x += 15 + widthOfText(label()) + 14;
  }
}

// Overview

function overviewLabels({ scene, words, clock }) {
  const span = fill(words.span, { seconds: durationWords(scene.seconds), clock });
  return [text(SHEET.margin, 0, words.whole, { fill: "soft", size: 11 }), text(SHEET.margin, 0, span, { size: 11, weight: 600 })];
}

function addOverview(sheet) {
  const { whole, marks, scene, found } = sheet;
  const top = sheet.y + 18;
  marks.push(rectangle(whole.begin, top, whole.width, SHEET.overview, "tint", { radius: 4 }));
  const key = `${whole.begin} ${whole.end} ${top}`;
  const kept = OVERVIEWS.get(scene);
  if (kept?.key !== key || kept.found !== found) OVERVIEWS.set(scene, { key, found, marks: overviewMarks(sheet, top) });
  marks.push(...OVERVIEWS.get(scene).marks);
  const [first, second] = overviewLabels(sheet);
  marks.push({ ...first, y: top + 19 }, { ...second, y: top + 34 });
  sheet.y = top + SHEET.overview;
  return { y: top, height: SHEET.overview };
}

function overviewMarks({ scene, whole, found, scrolled }, top) {
  if (scrolled) return overviewMean(scene, whole, top);
  const all = busyMarks(scene, whole, top);
  return found ? [...all.map(dimmed), ...busyMarks(found, whole, top)] : all;
}

// The GPUs on average, the hosts if there are none: more lanes than px have no row each.
function overviewMean(scene, whole, top) {
  const cards = scene.lanes.filter((lane) => !lane.host && !lane.program);
  const place = { y: top + 4, height: SHEET.overview - 8, step: 1 };
  return meanMarks(scene, cards.length ? cards : scene.lanes, whole, place, scene.mean && [scene.mean]);
}

function busyMarks(scene, whole, top) {
  const drawn = scene.lanes.slice(0, TIMELINE.mostUngrouped);
  const cards = drawn.filter((lane) => !lane.host);
  const rows = cards.length ? cards : drawn;
  const step = Math.max(2, densityWidth(scene, scene.lanes, whole, SHEET.mostColumns));
  const height = (SHEET.overview - 8) / Math.max(rows.length, 1);
  return rows.flatMap((lane, number) => {
    const busy = stack(whole, top + 4 + number * height, Math.max(height - 1, 1), step, BUSY_TOKENS);
    for (const group of groupsOf(scene, lane)) addGroup(scene, busy, group, [0, group.ops.length]);
    for (const copy of lane.copies) busy.add(scene.copies.start[copy], scene.copies.start[copy] + scene.copies.seconds[copy], COPY_TOKEN, shareOf(scene.copies, copy));
    return busy.boxes();
  });
}

// Lanes

function addBody(sheet) {
  const { scene, scale, words, marks } = sheet;
  addTraces(sheet);
  const top = sheet.y + 26;
  let y = top + 8;
  const compact = Boolean(sheet.scrolled);
  const seen = (compact ? sheet.drawn : scene.lanes).map((row) => (row.isGroup ? row : laneIn(scene, row, scale)));
  const rows = seen.slice(0, sheet.drawn.length).map((row) => {
    const [height, below] = compact ? [COMPACT.height, COMPACT.below] : row.host ? [SHEET.host, SHEET.belowHost] : [SHEET.lane, SHEET.belowLane];
    const placed = { ...row, y, height };
    y += height + below;
    return placed;
  });
  const lanes = rows.filter((row) => !row.isGroup);
  const bottom = y - 8;
  addAxis(sheet, top, bottom);
  const step = densityWidth(scene, seen.filter((row) => !row.isGroup), scale, sheet.most);
  rows.forEach((row, number) => {
    if (!row.isGroup) marks.push(rectangle(scale.begin, row.y, scale.width, row.height, "tint", { radius: 3, data: { lane: row.number } }));
    sheet.labels[number].forEach((label, at) => marks.push({ ...label, y: row.y + (compact ? [9, 22] : [15, 31, 45])[at] }));
  });
  const look = sheet.found ? dimmed : (mark) => mark;
  for (const row of rows) if (row.isGroup) marks.push(...groupRowMarks(scene, row, scale, step, sheet.found, look));
  marks.push(...copyMarks(scene, lanes, scale, words).map(look));
  for (const lane of lanes) {
    const ops = opMarks(scene, lane, scale, step);
    marks.push(...ops.marks.map(look));
    sheet.dense += ops.dense;
    if (!lane.host && !compact) marks.push(...groupMarks(scene, lane, scale, words));
  }
  if (sheet.found) marks.push(...matchMarks(sheet, lanes, step));
  addChosen(sheet, lanes);
  addExchanges(sheet, lanes);
  sheet.y = bottom;
  return rows.map(({ number, name, isGroup, y: at, height }) => ({ number, name, isGroup, y: at, height }));
}

// What matches a search, with the numbers of the whole scene.
function matchMarks({ found, scale, words }, lanes, step) {
  const matching = lanes.map((lane) => ({ ...laneIn(found, found.lanes[lane.number], scale), y: lane.y, height: lane.height }));
  const marks = [...copyMarks(found, matching, scale, words), ...matching.flatMap((lane) => opMarks(found, lane, scale, step).marks)];
  return marks.map((mark) => (mark.data ? { ...mark, data: toWhole(found, mark.data) } : mark));
}

// A row of flags where functions were traced; flags without enough space have no name.
function addTraces(sheet) {
  const { scene, scale, right, words, marks } = sheet;
  const traces = scene.traces.filter(([start]) => start >= scale.from && start <= scale.to);
  if (scene.traces.length) sheet.y += SHEET.traces;
  let end = 0;
  traces.forEach((trace, number) => {
    const [x, y] = [scale.at(trace[0]), sheet.y];
    const room = number + 1 < traces.length ? scale.at(traces[number + 1][0]) - 6 : right;
    const flag = path([[x - 4, y - 6], [x + 4, y - 6], [x, y]], { fill: "ink", closed: true });
    let name = text(x + 7, y, traceWords(trace, words), { size: 11 });
    if (name.x + widthOfText(name) > right) name = text(x - 7, y, name.words, { size: 11, anchor: "end" });
    const nameEnd = beginOfText(name) + widthOfText(name);
    const fits = end <= beginOfText(name) && nameEnd <= Math.max(room, x);
    marks.push({ mark: "group", title: traceSentence(trace, words), marks: fits ? [flag, name] : [flag] });
    end = Math.max(x, fits ? nameEnd : 0) + 8;
  });
}

function traceWords([, name, cause], words) {
  return fill(words[cause === "first" ? "trace" : "retrace"], { name });
}

// Why a function was traced again.
function traceSentence(trace, words) {
  const name = traceWords(trace, words);
  const [, , cause, differences] = trace;
  if (cause === "first") return name;
  const reasons = differences.map(([argument, now, before]) => fill(words.traceReason, { argument, now, before }));
  return fill(words.traceSentence, { name, why: reasons.length ? reasons.join(", ") : words[TRACE_CAUSES[cause]] });
}

function laneLabels({ scene, words, scrolled }, lane, window) {
  const name = (label) => text(SHEET.margin, 0, label, { size: scrolled ? 12 : 13, weight: 650 });
  if (lane.host) return [name(`${lane.name} ${words.host}`)];
  const soft = (label) => text(SHEET.margin, 0, label, { fill: "soft", size: 11 });
  if (scene.clock === "hostTime") {
    const percent = opShare(scene, lane, window) || (lane.first < lane.last ? "< 1" : 0);
    const said = [fill(words[lane.program ? "calls" : "ops"], { percent }), clockOf(scene, lane, words)];
    return [name(shortInCluster(lane.name)), ...(scrolled ? [said.join(", ")] : said).map(soft)];
  }
  const [opPercent, copyPercent] = percentagesOf(scene, lane, window);
  const ops = fill(words.ops, { percent: opPercent });
  const copies = fill(words.copies, { percent: copyPercent });
  return [name(shortInCluster(lane.name)), ...(scrolled ? [`${ops}, ${copies}`] : [ops, copies]).map(soft)];
}

// The percentages of a window that a lane's ops and copies take.
function percentagesOf(scene, lane, window) {
  const isWhole = window.from <= 0 && window.to >= scene.seconds;
  const exact = isWhole && scene.percentages?.[lane.number]; // sums of a long recording do not tell whether copies overlap
  return exact || [opShare(scene, lane, window), copyShare(scene, lane.copies, window)];
}

function groupLabels({ words }, { name, lanes, isOpen }) {
  const title = text(SHEET.margin, 0, `${isOpen ? "▾" : "▸"} ${name || words.here}`, { size: 12, weight: 650 });
  return [title, text(SHEET.margin, 0, fill(words.members, { n: lanes.length }), { fill: "soft", size: 11 })];
}

// Whether the times of a lane are modelled or measured, in words. On the clock of the host, only the program's are measured.
function clockOf({ clock }, lane, words) {
  return words[clock === "hostTime" ? (lane.program ? "measured" : "modelled") : clock];
}

function addAxis({ scale, right, marks }, top, bottom) {
  const step = tickOf(scale);
  let end = 0;
  const first = step ? Math.ceil((scale.from / step) * 0.999999999) : 0;
  const last = step ? Math.floor((scale.to / step) * 1.000000001) : 0;
  for (let number = first; number <= last; number++) {
    const x = scale.at(number * step);
    const words = number ? durationWords(number * step) : "0";
    const half = widthOf(words, 11) / 2;
    const label = text(Math.max(scale.begin, Math.min(x, right - half) - half), top - 9, words, { fill: "soft", size: 11, fixed: true });
    marks.push(line(x, top - 4, x, bottom));
    if (label.x < end) continue;
    marks.push(label);
    end = label.x + widthOfText(label) + 8;
  }
}

// The seconds between two grid lines: 1, 2 or 5 of a unit, so that there are at most twelve.
function tickOf(scale) {
  if (!scale.seconds) return 0;
  const shortest = scale.seconds / Math.min(12, scale.width / 68);
  const unit = 10 ** Math.floor(Math.log10(shortest));
  return [1, 2, 5, 10].map((factor) => factor * unit).find((seconds) => seconds >= shortest * 0.999);
}

function addChosen({ scene, scale, chosen, marks }, lanes) {
  if (!chosen) return;
  const { columns, number } = chosen.op !== undefined ? { columns: scene.ops, number: chosen.op } : { columns: scene.copies, number: chosen.copy };
  const [start, end] = [columns.start[number], columns.start[number] + columns.seconds[number]];
  if (end < scale.from || start > scale.to) return;
  const x = scale.inside(start);
  for (const lane of lanes) {
    const whole = scene.lanes[lane.number];
    const here = chosen.op !== undefined ? whole.first <= number && number < whole.last : lane.copies.includes(number);
    if (here) marks.push(rectangle(x - 2, lane.y - 2, scale.inside(end) - x + 4, lane.height + 4, "", { stroke: "focus", strokeWidth: 2, radius: 4 }));
  }
}

function addExchanges({ scene, scale, words, marks }, lanes) {
  const host = lanes.find((lane) => lane.host);
  if (!host) return; // or it is not in sight
  const middle = host.y + host.height / 2;
  for (const [start, stop, copies, nbytes] of scene.exchanges) {
    if (stop < scale.from || start > scale.to) continue;
    const [begin, end] = [scale.inside(start), scale.inside(stop)];
    const percent = Math.round((100 * (stop - start)) / (scene.seconds || 1));
    const figures = { n: copies, nbytes: sizeWords(nbytes), percent };
    const sentence = fill(words[scene.exchanges.length === 1 ? "allReduce" : "allReduces"], figures);
    const bracket = [[begin + 0.5, middle + 9], [begin + 0.5, middle], [end - 0.5, middle], [end - 0.5, middle + 9]];
    const label = [[sentence, 12], [sentence, 11], [fill(words.exchange, figures), 11]]
      .map(([said, size]) => text((begin + end) / 2, middle + 4, said, { size, weight: 650, anchor: "middle" }))
      .find((one) => widthOfText(one) + 20 < end - begin);
    const ground = label && rectangle(beginOfText(label) - 6, middle - 9, widthOfText(label) + 12, 18, "tint");
    marks.push({ mark: "group", title: sentence, marks: [path(bracket, { stroke: "cpy", strokeWidth: 1.5 }), ...(label ? [ground, label] : [])] });
  }
}

// Foot

function addFoot(sheet) {
  const { scene, chosen, marks } = sheet;
  marks.push(line(SHEET.margin, sheet.y + 6, sheet.right, sheet.y + 6));
  sheet.y += 8;
  const retraces = scene.traces.filter(([, , cause]) => cause !== "first");
  if (retraces.length) addFlow(sheet, retraces.slice(0, SHEET.mostReasons).map((trace) => text(0, 0, traceSentence(trace, sheet.words))));
  if (retraces.length > SHEET.mostReasons) addFlow(sheet, [text(0, 0, fill(sheet.words.moreTraces, { n: retraces.length - SHEET.mostReasons }), { fill: "soft", size: 11 })]);
  if (chosen) {
    const top = sheet.y;
    for (const texts of detailTexts(sheet, chosen)) addFlow(sheet, texts, 30);
    const token = chosen.op === undefined ? "cpyf" : factOf(scene, chosen.op).token;
    marks.push(rectangle(SHEET.margin, top + 8, 5, sheet.y - top - 4, token, { radius: 2 }));
  }
  addFlow(sheet, foldedTexts(sheet).map((said) => text(0, 0, said, { fill: "soft", size: 11 })), chosen ? 30 : SHEET.margin);
}

function detailTexts({ scene, words }, chosen) {
  if (chosen.op === undefined) return [[text(0, 0, copySentence(scene, chosen.copy), { size: 13, weight: 650 }), text(0, 0, clockOf(scene, {}, words))]];
  const fact = factOf(scene, chosen.op);
  const lane = scene.lanes.find(({ first, last }) => first <= chosen.op && chosen.op < last);
  const phase = fact.phase && (fact.layer ? fill(words.of, { phase: words[fact.phase], layer: fact.layer }) : words[fact.phase]);
  const about = [lane.name, phase, fact.output].filter(Boolean).map((said) => text(0, 0, said));
  const duration = text(0, 0, `${durationWords(scene.ops.seconds[chosen.op])} ${clockOf(scene, lane, words)}`, { required: true });
  const why = fact.why ? [text(0, 0, fill(words.why, { why: fact.why }))] : [];
  const code = scene.lines[fact.site];
  return [
    [text(0, 0, fact.op, { size: 13, weight: 650, mono: true }), ...about, duration],
    [...why, ...(code ? [text(0, 0, code, { fill: "soft", size: 11, mono: true })] : [])],
  ];
}

// The detail line about an op or a copy, as a sentence.
export function detailSentence(scene, words, chosen) {
  return detailTexts({ scene, words }, chosen).flat().map((mark) => mark.words).join(", ");
}

function foldedTexts({ scene, words, scrolled }) {
  const { constants, copies, ops } = scene.folded;
  const unclocked = scene.unclocked ?? scene.executed + scene.copied - scene.ops.start.length - scene.copies.start.length;
  return [
    fill(words.ran, { ops: scene.executed, copies: scene.copied }),
    fill(words.folded, { constants, copies, ops }),
    unclocked ? fill(words.unclocked, { n: unclocked }) : "",
    scene.cut ? fill(words.cut, { n: grouped(scene.cut) }) : "",
    !scrolled && scene.lanes.length > TIMELINE.mostUngrouped ? fill(words.more, { n: scene.lanes.length - TIMELINE.mostUngrouped }) : "",
  ].filter(Boolean);
}

function addFlow(sheet, texts, begin = SHEET.margin) {
  const [marks, y] = flowed(texts, begin, sheet.right, sheet.y + 20);
  sheet.marks.push(...marks);
  sheet.y = y;
}
