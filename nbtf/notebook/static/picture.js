// Draws marks as SVG in the page, as stills/svg.py does for stills; colours are tokens of the palette.
//
// A mark is a plain object whose `mark` is its kind, with the fields of the corresponding class in marks.py:
//   {mark: "rectangle", x, y, width, height, fill, stroke, strokeWidth, radius, opacity, dashed, title}
//   {mark: "boxes", sides: [[x, y, width, height]], fill}
//   {mark: "line", x1, y1, x2, y2, stroke, width, opacity, dashed, arrow}
//   {mark: "path", points: [[x, y]], fill, stroke, strokeWidth, opacity, closed, dashed, title}
//   {mark: "text", x, y, words, fill, size, weight, anchor, opacity, mono, halo}
//   {mark: "group", marks, title}
// and a picture is {width, height, title, marks}. Stills also have narrow forms, for which marks have the further fields isTag,
// required, continues and fixed. A mark's `data` becomes data-* attributes of its element.

import { attr, newName, s } from "./dom.js";
import { BOLD_LETTERS, LETTERS, MONO_LETTER, OTHER_LETTER, WIDE_LETTERS } from "./letters.js";
import { FILLS, LOOK } from "./measures.js";

const DIMMED = 0.2;
const MOST_MARKS = 2000; // up to which each mark has an element of its own

const IS_WIDE = new Map(); // code of a letter, once measured
const DRAWN = new WeakMap(); // svg -> its marks, with their elements

const MARKS = { rectangle: rectangleElements, boxes: boxesElements, line: lineElements, path: pathElements, text: textElements, group: groupElements };

export function rectangle(x, y, width, height, fill = "", rest = {}) {
  return { mark: "rectangle", x, y, width, height, fill, ...rest };
}

export function line(x1, y1, x2, y2, rest = {}) {
  return { mark: "line", x1, y1, x2, y2, stroke: "hair", width: 1, ...rest };
}

export function path(points, rest = {}) {
  return { mark: "path", points, ...rest };
}

export function text(x, y, words, rest = {}) {
  return { mark: "text", x, y, words, fill: "ink", size: 12, weight: 400, anchor: "start", ...rest };
}

// A picture with a frame around its marks.
export function framed(width, height, title, marks) {
  return { width, height, title, marks: [rectangle(0.5, 0.5, width - 1, height - 1, "", { stroke: "hair", radius: 8 }), ...marks] };
}

// The width of text in px, without access to a font.
export function widthOf(words, size = 12, weight = 400, mono = false) {
  let ems = 0;
  for (const letter of words) ems += isWide(letter) ? 1 : mono ? MONO_LETTER : (LETTERS[letter] ?? OTHER_LETTER);
  return ems * size * (weight > 500 && !mono ? BOLD_LETTERS : 1);
}

export function widthOfText({ words, size, weight, mono }) {
  return widthOf(words, size, weight, mono);
}

// The left edge of a text, in px.
export function beginOfText(mark) {
  return mark.x - widthOfText(mark) * { start: 0, middle: 0.5, end: 1 }[mark.anchor];
}

// As much of a text as fits in `width` px, with an ellipsis after at least four letters; otherwise nothing.
export function fitted(words, width, size = 12, weight = 400, mono = false) {
  if (widthOf(words, size, weight, mono) <= width) return words;
  const letters = [...words];
  for (let end = letters.length - 1; end > 3; end--) {
    const part = letters.slice(0, end).join("") + "…";
    if (widthOf(part, size, weight, mono) <= width) return part;
  }
  return "";
}

export function isWide(letter) {
  const code = letter.codePointAt(0);
  if (code < WIDE_LETTERS[0][0]) return false;
  if (!IS_WIDE.has(code)) IS_WIDE.set(code, WIDE_LETTERS.some(([first, last]) => first <= code && code <= last));
  return IS_WIDE.get(code);
}

// The same mark, so faint that others stand out.
export function dimmed(mark) {
  return mark.mark === "group" ? { ...mark, marks: mark.marks.map(dimmed) } : { ...mark, opacity: DIMMED * (mark.opacity ?? 1) };
}

// The token of text on a fill.
export function textOn(fill) {
  return FILLS.fillNames.includes(fill) ? `on-${fill}` : "ink";
}

// An empty drawing for `drawPicture`. Screen readers skip marks; the surrounding element describes them.
export function drawing() {
  return s("svg", { class: "nbtf-picture", "aria-hidden": "true", "font-family": LOOK.sans, "data-hatch": newName() });
}

// Draws a picture into `drawing`; a `clear` one lies on top of another. Marks that were already in the picture keep their
// elements.
export function drawPicture(svg, picture) {
  const { width, height, marks } = picture;
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) attr(svg, name, value);
  const { hatch } = svg.dataset;
  if (!DRAWN.has(svg)) svg.append(hatchOf(hatch));
  const paper = picture.clear ? [] : [rectangle(0, 0, width, height, "paper")];
  const before = DRAWN.get(svg) ?? new Map();
  const now = new Map();
  for (const mark of [...paper, ...(marks.length > MOST_MARKS && !picture.clear ? bundled(marks) : marks)]) {
    now.set(mark, before.get(mark) ?? elementsOf(mark, hatch));
  }
  for (const [mark, elements] of before) if (!now.has(mark)) for (const element of elements) element.remove();
  let next = svg.firstChild.nextSibling;
  for (const element of [...now.values()].flat()) {
    if (element === next) next = next.nextSibling;
    else svg.insertBefore(element, next);
  }
  DRAWN.set(svg, now);
}

// Combines areas that look the same, unless they must be addressable: many elements make a page slow, long ones do not. Such
// areas overlap at most by an edge.
function bundled(marks) {
  const areas = new Map();
  return marks.flatMap((mark) => {
    if (mark.mark !== "rectangle" || mark.stroke || mark.data || mark.fill === "hatch") return [mark];
    const key = `${mark.fill} ${mark.opacity ?? 1}`;
    const { x, y, width, height } = mark;
    const before = areas.get(key);
    if (before) return void before.sides.push([x, y, width, height]) ?? [];
    areas.set(key, { mark: "boxes", sides: [[x, y, width, height]], fill: mark.fill, opacity: mark.opacity });
    return [areas.get(key)];
  });
}

function hatchOf(id) {
  const stripe = s("path", { d: "M0 0V6", "stroke-width": 1.6, fill: "none", stroke: colour("line") });
  const pattern = { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return s("defs", null, s("pattern", pattern, stripe));
}

function elementsOf(mark, hatch) {
  const elements = MARKS[mark.mark](mark, hatch);
  for (const [name, value] of Object.entries(mark.data || {})) elements[0].dataset[name] = value;
  return elements;
}

function rectangleElements(mark, hatch) {
  const sides = { x: px(mark.x), y: px(mark.y), width: px(Math.max(mark.width, 0)), height: px(Math.max(mark.height, 0)) };
  return [s("rect", { ...sides, rx: mark.radius || null, ...paint(mark, hatch) }, titleOf(mark))];
}

function boxesElements(mark, hatch) {
  const shape = mark.sides.map(([x, y, width, height]) => `M${px(x)} ${px(y)}h${px(width)}v${px(height)}h-${px(width)}z`);
  return [s("path", { d: shape.join(""), ...paint(mark, hatch) })];
}

function lineElements(mark, hatch) {
  const { x1, y1, x2, y2, stroke, width, opacity, dashed } = mark;
  const ends = { x1: px(x1), y1: px(y1), x2: px(x2), y2: px(y2) };
  const element = s("line", { ...ends, ...paint({ stroke, strokeWidth: width, opacity, dashed }, hatch) });
  return mark.arrow ? [element, ...pathElements(headOf(mark), hatch)] : [element];
}

function headOf({ x1, y1, x2, y2, stroke, opacity }) {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const side = (turn) => [x2 - LOOK.head * Math.cos(angle + turn), y2 - LOOK.head * Math.sin(angle + turn)];
  return path([[x2, y2], side(-Math.PI / 7), side(Math.PI / 7)], { fill: stroke, opacity, closed: true });
}

function pathElements(mark, hatch) {
  const points = mark.points.map(([x, y]) => `${px(x)} ${px(y)}`).join("L");
  return [s("path", { d: `M${points}${mark.closed ? "Z" : ""}`, ...paint(mark, hatch) }, titleOf(mark))];
}

function textElements(mark, hatch) {
  const { x, y, words, size, weight, anchor, opacity, mono, halo, fill } = mark;
  const letters = { "font-size": size, "font-weight": weight === 400 ? null : weight, "font-family": mono ? "monospace" : null };
  const room = words ? { textLength: px(widthOfText(mark)), lengthAdjust: "spacingAndGlyphs" } : {};
  const edge = halo ? { "paint-order": "stroke", "stroke-linejoin": "round" } : {};
  const ink = paint(halo ? { fill, opacity, stroke: "paper", strokeWidth: 4 } : { fill, opacity }, hatch);
  const where = { x: px(x), y: px(y), "text-anchor": anchor === "start" ? null : anchor };
  return [s("text", { ...where, ...letters, ...room, ...ink, ...edge }, words)];
}

function groupElements(mark, hatch) {
  return [s("g", null, titleOf(mark), ...mark.marks.flatMap((inner) => elementsOf(inner, hatch)))];
}

function paint({ fill, stroke, strokeWidth, opacity, dashed }, hatch) {
  return {
    fill: fill === "hatch" ? `url(#${hatch})` : fill ? colour(fill) : "none",
    stroke: stroke ? colour(stroke) : null,
    "stroke-width": stroke && strokeWidth !== 1 ? (strokeWidth ?? null) : null,
    "stroke-dasharray": stroke && dashed ? "4 3" : null,
    opacity: opacity === 1 ? null : (opacity ?? null),
  };
}

function colour(token) {
  return `var(--nbtf-${token})`;
}

function titleOf({ title }) {
  return title ? s("title", null, title) : null;
}

function px(number) {
  if (!Number.isFinite(number)) throw new RangeError(`Expected a number as a coordinate, got ${number}`);
  return Math.round(number * 10) / 10;
}
