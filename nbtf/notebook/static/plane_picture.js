// Draws what holds a device's memory and why a request failed.

import { line, path, rectangle, text, textOn, widthOf, widthOfText } from "./picture.js";
import { flowed, linesOf } from "./flow.js";
import { allPieces, chunksAt, momentOf, pieceObject } from "./memory_pieces.js";
import { wholeAxis } from "./plane_axis.js";
import { SMALL, aboutPiece, addressLabels, bandSides, crossSection, freeInWords, isPale, rasterOfChunks, shortened } from "./plane_chunks.js";
import { PLANE } from "./plane_sizes.js";
import { sizeInWords } from "./sizes.js";
import { halfEven } from "./time_scale.js";
import { WORDS, fill } from "./words.js";

const NARROWEST_PLANE = 220; // px
const MOST_NAMES = 150; // of bands in a raster: each text costs the browser a tenth of a millisecond

// The layout of a picture of some width; the same for all steps. A narrow place has no column of names at the side: its figures
// are above the curve. `explained` is whether a failed request is explained below.
export function planeLayout(history, asked, view = null, explained = true) {
  const words = WORDS.memoryPicture;
  const isNarrow = asked < PLANE.leastWidth;
  const width = Math.max(asked, isNarrow ? NARROWEST_PLANE : PLANE.leastWidth);
  const counted = { ...numberOf(history, history.steps - 1), pieces: history.count };
  const widest = [fill(words.holes, { size: PLANE.widest, largest: PLANE.widest }), fill(words.counted, counted)];
  const side = width - PLANE.margin - (isNarrow ? PLANE.bar : Math.max(PLANE.side, ...widest.map((one) => widthOf(one, 11, 600))));
  const right = side - (isNarrow ? 12 : 28);
  const limit = Math.max(history.limit, history.top, 1);
  const high = history.refusals.length || history.end * 2 > limit ? limit : roundedUp(history.end);
  const whole = wholeAxis(history, PLANE.left, right, high / PLANE.height);
  const axis = view ? whole.zoomed(view.from, view.to) : whole;
  const [low, least] = view ? [view.low * high, ((view.high - view.low) * high) / PLANE.height] : [0, high / PLANE.height];
  const layout = { history, width, side, right, isNarrow, end: width - PLANE.margin, limit, high, axis, low, least, view, chunks: new Map() };
  layout.head = headOfPlane(layout);
  layout.curveTop = layout.head.y + 24;
  const [, y] = planeFacts(layout, 0);
  if (isNarrow) layout.curveTop = y + 24;
  layout.bottom = Math.max(layout.curveTop + 66, isNarrow ? 0 : y + 8) + PLANE.height;
  layout.top = layout.bottom - PLANE.height;
  layout.y = (address) => layout.bottom - (address - low) / least;
  if (view) layout.y = (address) => layout.bottom - Math.min(Math.max((address - low) / least, 0), PLANE.height);
  layout.curve = curveOf(layout);
  layout.raster = history.isPainted ? rasterOf(layout) : null;
  const bands = layout.raster ? namesOf(layout) : allPieces(history).flatMap((piece) => bandOf(layout, piece));
  layout.plane = [...frameOf(layout), ...bands, ...axis.spans(history.spans, layout.bottom)];
  layout.refused = history.refusals.slice(-4).filter(({ step }) => axis.shows(step)).flatMap((each) => refusalOf(layout, each));
  layout.foot = planeFoot(layout, explained);
  layout.height = halfEven(layout.foot.y + PLANE.margin);
  return layout;
}

// The marks that are the same at all steps, drawn once. With a raster of the bands below them, they leave it visible.
export function planeGround({ width, height, head, curve, plane, foot, raster }) {
  const edge = rectangle(0.5, 0.5, width - 1, height - 1, "", { stroke: "hair", radius: 8 });
  return { width, height, raster, clear: raster !== null, marks: [edge, ...head.marks, ...curve, ...plane, ...foot.marks] };
}

// The marks on top at a step; `chosen` is a chunk, or undefined.
export function planeMoment(layout, step, chosen = null) {
  const { width, height } = layout;
  const marks = marksAt(layout, step, scrubberAt(layout, step));
  const raster = layout.raster ? rasterOfChunks(layout, step) : null;
  return { width, height, clear: true, raster, marks: chosen ? [...marks, ...chosenFrames(layout, chosen)] : marks };
}

// The marks of a step; a picture that stays at the step has no scrubber.
export function marksAt(layout, step, scrubber = []) {
  return [...planeFacts(layout, step)[0], ...scrubber, ...layout.refused, ...crossSection(layout, step)];
}

function headOfPlane({ history, width, end }) {
  const words = WORDS.memoryPicture;
  const refused = history.refusals.length > 0;
  const title = text(PLANE.margin, 28, fill(words.memoryOf, { name: history.name }), { size: 15, weight: 650 });
  const begin = title.x + widthOfText(title) + 12;
  const token = refused ? "hot" : "soft";
  const state = text(begin + 17, 27, refused ? words.outOfMemory : history.measured ? WORDS.timeline.measured : WORDS.timeline.ended, { fill: token, size: 11, weight: 600 });
  const pill = rectangle(begin, 14, widthOfText(state) + 25, 18, "", { stroke: refused ? "hot" : "line", radius: 9, isTag: true });
  const dot = rectangle(begin + 7, 20, 6, 6, token, { radius: 3, isTag: true });
  const after = pill.x + pill.width + 12;
  const axes = text(0, 0, history.measured ? WORDS.snapshot.axes : words.axes, { fill: "soft" });
  const below = after + widthOfText(axes) > end;
  const [said, y] = flowed([axes], below ? PLANE.margin : after, end, below ? 46 : 27);
  return { marks: [title, pill, dot, state, ...said], y: y + 1 };
}

// The figures above the chunks, and the baseline of the last one.
function planeFacts(layout, step) {
  const { history, side, end, limit, high } = layout;
  const words = WORDS.memoryPicture;
  const counted = { ...numberOf(history, step), pieces: momentOf(history, step).alive.length };
  const rows = [
    [text(0, 0, history.measured ? fill(WORDS.snapshot.reservedOf, { size: sizeInWords(momentOf(history, step).reserved) }) : high === limit ? words.limit : fill(words.ofLimit, { limit: sizeInWords(limit) }), SMALL)],
    [text(0, 0, sizeInWords(history.inUse[step]), { size: 15, weight: 650 }), text(0, 0, words.inUse, { fill: "soft" })],
    [text(0, 0, freeInWords(history, step), SMALL)],
    [text(0, 0, fill(words.counted, counted), { size: 11, weight: 600 })],
  ];
  const facts = [];
  let y = layout.isNarrow ? layout.head.y + 2 : layout.curveTop - 14;
  for (const row of rows) {
    const [texts, last] = flowed(row, layout.isNarrow ? PLANE.margin : side, end, y + 18);
    facts.push(...texts);
    y = last;
  }
  return [facts, y];
}

// The number of a step and the number of all steps, of which a page may have a part.
export function numberOf({ steps, firstStep = 0, allSteps = steps }, step) {
  return { i: firstStep + step + 1, n: allSteps };
}

function curveOf({ history, axis, high, curveTop, right }) {
  const low = curveTop + PLANE.curve;
  const points = [[PLANE.left, low]];
  for (const [first, last, begin, end] of axis.columns(history.everyStep ? 1 : 0)) {
    let most = 0;
    for (let step = first; step < last; step++) most = Math.max(most, history.inUse[step]);
    const y = low - (most / high) * PLANE.curve;
    points.push([begin, y], [end, y]);
  }
  const label = { ...SMALL, anchor: "end" };
  return [
    path([...points, [points.at(-1)[0], low]], { fill: "tint2", closed: true }),
    path(points, { stroke: "soft", strokeWidth: 1.3 }),
    line(PLANE.left, curveTop, right, curveTop, { stroke: "soft", dashed: true }),
    text(PLANE.left - 8, curveTop + 4, sizeInWords(high), label),
    text(PLANE.left - 8, low + 1, "0 B", label),
  ];
}

// The device's pool, hatched, and the scale of the addresses.
function frameOf({ history, axis, top, right, least, low, y, raster }) {
  const taken = raster ? [] : history.extents.map(({ start, size, birth, death }) => {
    const [begin, end, upper, bottom] = [axis.x(birth), axis.x(death), Math.max(y(start + size), top), y(start)];
    return rectangle(begin, upper, end - begin, bottom - upper, "hatch", { opacity: 0.45 });
  });
  const edge = rectangle(PLANE.left, top, right - PLANE.left, PLANE.height, "", { stroke: "hair2" });
  return [...taken, edge, ...addressLabels(low, least * PLANE.height, y)];
}

function bandOf(layout, piece) {
  const [begin, end] = [layout.axis.x(piece.birth), layout.axis.x(piece.death)];
  if (piece.size < layout.least || end - begin <= 0) return [];
  const [top, middle, low] = bandSides(layout, piece);
  if (layout.view && low <= top) return [];
  const token = piece.group.fill;
  const [x, width] = [begin + 0.4, Math.max(end - begin - 0.8, 0.6)];
  const sizes = { asked: sizeInWords(piece.requested), charged: sizeInWords(piece.size) };
  const title = fill(WORDS.memoryPicture.bandTitle, { name: aboutPiece(piece), ...sizes });
  const marks = [rectangle(x, top, width, low - top, "paper", { title })];
  if (isPale(layout, piece) && middle > top) marks.push(rectangle(x, top, width, middle - top, token, { opacity: PLANE.pale }));
  marks.push(rectangle(x, middle, width, low - middle, token, { radius: width > 6 ? 2 : 0 }));
  return [...marks, ...nameOf(piece, begin, end, middle, low)];
}

// The name of a band that has room for it.
function nameOf({ title, size, group }, begin, end, top, low) {
  const width = Math.max(end - begin - 0.8, 0.6);
  const name = low - top > 12 && width > 36 ? shortened(title || sizeInWords(size), width - 8) : "";
  return name ? [text(begin + 5, (top + low) / 2 + 4, name, { fill: textOn(group.fill), size: 11, weight: 600, mono: true })] : [];
}

// The names of the largest bands of a raster.
function namesOf(layout) {
  const { history, axis, least, low, y } = layout;
  const { start, size, birth, death } = history.columns;
  const edges = axis.edgesOf();
  const [width, high] = [layout.right - PLANE.left, low + least * PLANE.height];
  const bands = [];
  for (let at = 0; at < size.length; at++) {
    if (size[at] < least * 12 || start[at] >= high || start[at] + size[at] <= low) continue;
    const length = Math.min(edges(death[at]), width) - Math.max(edges(birth[at]), 0);
    if (length > 36) bands.push([at, length * size[at]]);
  }
  return bands.sort((a, b) => b[1] - a[1]).slice(0, MOST_NAMES).flatMap(([at]) => {
    const piece = pieceObject(history, at);
    return nameOf(piece, axis.x(piece.birth), axis.x(piece.death), y(piece.start + piece.size), y(piece.start));
  });
}

// The bands in sight as numbers, which plane_raster.js paints: their sides in px within the plane, and their layer.
function rasterOf(layout) {
  const { history: { columns, extents, groups, groupOf }, right, bottom, top } = layout;
  const free = sidesInSight(layout, columnsOfExtents(extents));
  const used = sidesInSight(layout, columns, groupOf);
  const fills = groups.map((group) => group.fill);
  return { x: PLANE.left, y: top, width: right - PLANE.left, height: bottom - top, free: free.sides, used: used.sides, layers: used.layers, fills };
}

function columnsOfExtents(extents) {
  const column = (name) => Float64Array.from(extents, (extent) => extent[name]);
  return { start: column("start"), size: column("size"), birth: column("birth"), death: column("death") };
}

// Four px for each range of memory that is in sight: left, right, top and bottom.
function sidesInSight({ axis, right, bottom, top, low, least }, { start, size, birth, death }, groupOf = null) {
  const [width, height, scale, high] = [right - PLANE.left, bottom - top, 1 / least, low + least * (bottom - top)];
  const edges = axis.edgesOf();
  const [sides, layers] = [new Float32Array(start.length * 4), new Uint8Array(start.length)];
  let count = 0;
  for (let at = 0; at < start.length; at++) {
    const begin = start[at];
    const end = begin + size[at];
    if (end <= low || begin >= high) continue;
    const from = edges(birth[at]);
    const to = edges(death[at]);
    if (to <= 0 || from >= width) continue;
    if (groupOf) layers[count] = groupOf[at];
    sides[4 * count] = from > 0 ? from : 0;
    sides[4 * count + 1] = to < width ? to : width;
    sides[4 * count + 2] = end < high ? height - (end - low) * scale : 0;
    sides[4 * count + 3] = begin > low ? height - (begin - low) * scale : height;
    count += 1;
  }
  return { sides: sides.subarray(0, 4 * count), layers: layers.subarray(0, count) };
}

// A red line, and the request at its true height over the largest hole.
function refusalOf(layout, refusal) {
  const { history, axis, curveTop, high, bottom, side, y } = layout;
  const [begin, end] = [axis.x(refusal.step), axis.x(refusal.step + 1)];
  const marks = [line(begin, curveTop - 4, begin, bottom, { stroke: "hot", width: 1.6 })];
  if (end - begin < 80) return marks;
  const words = WORDS.memoryPicture.outOfMemory;
  const flag = widthOf(words, 11, 650) + 14;
  if (refusal === history.refusals.at(-1) || flag <= end - begin) {
    const x = Math.min(begin - 1, side - 8 - flag);
    marks.push(rectangle(x, curveTop - 13, flag, 17, "hot", { radius: 3, isTag: true }));
    marks.push(text(x + 7, curveTop, words, { fill: "paper", size: 11, weight: 650 }));
  }
  const holes = chunksAt(history, refusal.step).filter((chunk) => !chunk.piece);
  const { start, size } = holes.reduce((best, hole) => (hole.size > best.size || (hole.size === best.size && hole.start < best.start) ? hole : best), holes[0] ?? { start: 0, size: 0 });
  const needed = Math.min(refusal.nbytes, high);
  const lowest = Math.min(Math.max(start + size / 2 - needed / 2, 0), high - needed);
  const [top, height] = [y(lowest + needed), y(lowest) - y(lowest + needed)];
  if (height < 1) return marks;
  const [x, width] = [begin + 5, end - begin - 10];
  marks.push(rectangle(x, top, width, height, "paper", { radius: 3, opacity: 0.93 }));
  marks.push(rectangle(x, top, width, height, "", { stroke: "hot", strokeWidth: 1.8, radius: 3, dashed: true }));
  return [...marks, ...requestOf(layout, refusal, x + width / 2, top + height / 2, width)];
}

// The text on a request, which may be taller than the request, but stays within the plane.
function requestOf({ top, bottom }, refusal, x, y, width) {
  const words = WORDS.memoryPicture;
  const letters = { fill: "hot", size: 11, anchor: "middle", halo: true };
  const asked = text(x, 0, fill(words.asked, { size: refusal.asked }), { ...letters, weight: 650 });
  const whole = [asked, text(x, 0, words.noHole, letters)];
  const room = Math.max(width, ...whole.flatMap((one) => one.words.split(" ").map((word) => widthOf(word, 11, one.weight))));
  const lines = whole.flatMap((one) => linesOf(one, room).map((said) => ({ ...one, words: said })));
  const below = 13 * (lines.length - 1);
  const first = Math.min(Math.max(y + 4 - below / 2, top + 13), bottom - 5 - below);
  return lines.map((one, at) => ({ ...one, y: first + 13 * at, continues: at > 0 }));
}

export function scrubberAt({ axis, curveTop, bottom: y, lineEnd }, step) {
  if (!axis.shows(step)) return [];
  const x = axis.middle(step);
  const head = [[x - 6, y], [x + 6, y], [x + 6, y + 5], [x, y + 11], [x - 6, y + 5]];
  return [line(x, curveTop, x, lineEnd?.(step) ?? y, { stroke: "ink", width: 1.5 }), path(head, { fill: "ink", closed: true })];
}

// Frames the chunk that the reader has selected, in the cross-section and in the plane.
function chosenFrames({ side, axis, y }, { start, size, piece }) {
  const frame = (x, width) => rectangle(x - 2, y(start + size) - 2, width + 4, y(start) - y(start + size) + 4, "", { stroke: "focus", strokeWidth: 2, radius: 4 });
  const bar = frame(side, PLANE.bar);
  return piece ? [bar, frame(axis.x(piece.birth), axis.x(piece.death) - axis.x(piece.birth))] : [bar];
}

// The legend and the explanation of a failed request; with the lowest baseline.
function planeFoot(layout, explained) {
  const { history, bottom, end, least } = layout;
  const words = WORDS.memoryPicture;
  const drawn = layout.raster ? null : allPieces(history).filter((piece) => piece.size >= least);
  const shown = drawn && new Set(drawn.map(({ group }) => group));
  const groups = history.groups.filter((group, number) => (shown ? shown.has(group) : history.present.has(number)));
  const marks = [];
  let [x, y] = [PLANE.left, bottom + 40];
  const pale = drawn?.find((piece) => isPale(layout, piece));
  const beyond = pale ? [{ name: words.beyond, fill: pale.group.fill, look: { opacity: PLANE.pale } }] : [];
  for (const { name, fill: token, look } of [...groups, ...beyond, { name: words.free, fill: "hatch", look: { stroke: "line" } }]) {
    const width = widthOf(name, 11);
    if (x + 15 + width > end) [x, y] = [PLANE.left, y + 18];
    marks.push(rectangle(x, y - 9, 10, 10, token, { radius: 2, ...look }));
    marks.push(text(x + 15, y, name, SMALL));
    x += 29 + width;
  }
  const folded = drawn ? history.count - drawn.length : 0;
  if (folded) {
    const note = fill(words.foldedPieces, { n: folded, size: sizeInWords(Math.floor(least)) });
    y += x + widthOf(note, 11) > end ? 18 : 0;
    marks.push(text(end, y, note, { ...SMALL, anchor: "end" }));
  }
  return history.refusals.length && explained ? detailOf(layout, history.refusals.at(-1), marks, y + 12) : { marks, y };
}

// The error's sentences, the line, and what would have helped; with the lowest baseline.
function detailOf({ width, end }, refusal, marks, y) {
  const rows = [
    text(0, 0, WORDS.memoryPicture.outOfMemory, { size: 13, weight: 650 }),
    text(0, 0, refusal.request + refusal.sentence),
    ...(refusal.line ? [text(0, 0, refusal.line, { ...SMALL, mono: true })] : []),
    ...refusal.hints.map((hint) => text(0, 0, hint, { size: 11, weight: 600 })),
  ];
  marks.push(line(PLANE.margin, y, width - PLANE.margin, y));
  const top = y + 12;
  y += 7;
  for (const row of rows) {
    const [texts, last] = flowed([row], PLANE.margin + 14, end, y + 18);
    marks.push(...texts);
    y = last;
  }
  marks.push(rectangle(PLANE.margin, top, 5, y + 4 - top, "hot", { radius: 2 }));
  return { marks, y };
}

// A size whose quarters are round numbers.
export function roundedUp(size) {
  const bits = size > 1 ? Math.floor(Math.log2(size - 1)) + 1 : 0;
  const unit = 2 ** Math.max(bits - 3, 2);
  return Math.ceil(size / unit) * unit;
}
