// Draws how much memory each group holds over time, and the current step.

import { flowed } from "./flow.js";
import { fitted, line, path, rectangle, text, widthOfText } from "./picture.js";
import { groupLevels } from "./memory_pieces.js";
import { wholeAxis } from "./plane_axis.js";
import { SMALL } from "./plane_chunks.js";
import { roundedUp, scrubberAt } from "./plane_picture.js";
import { PLANE } from "./plane_sizes.js";
import { sizeInWords } from "./sizes.js";
import { WORDS, fill } from "./words.js";

// The areas, the list beside them, the upper edge of the areas, and the longest name in the list, in px.
export const STACK = { height: 240, side: 198, top: 60, longestName: 190 };
const STACK_HEAD = 28; // baseline of the title
const STACK_LEAST = 480;
const STACK_NARROWEST = 220;
const STACK_ROW = 22;

// The layout of a picture of some width; the same for all steps. In a narrow place, the list is below the areas.
export function stackLayout(history, asked, view = null) {
  const isNarrow = asked < STACK_LEAST;
  const width = Math.max(asked, STACK_NARROWEST);
  const totals = groupLevels(history);
  const used = history.inUse[history.peak];
  const rows = compositionAt(history.groups, totals, history.peak, used);
  const side = Math.max(STACK.side, ...rows.map(({ name, figure }) => 46 + widthOfText(name) + widthOfText(figure)));
  const right = width - PLANE.margin - (isNarrow ? 0 : side);
  const high = roundedUp(Math.max(used, 1));
  const whole = wholeAxis(history, PLANE.left, right, high / STACK.height, [history.peak]);
  const axis = view ? whole.zoomed(view.from, view.to) : whole;
  const title = text(0, 0, fill(WORDS.memoryPicture.whoOverTime, { name: history.name }), { size: 15, weight: 650 });
  const [head, headEnd] = flowed([title], PLANE.margin, width - PLANE.margin, STACK_HEAD);
  const top = headEnd + STACK.top - STACK_HEAD;
  const y = (size) => top + STACK.height * (1 - size / high);
  const lineEnd = (step) => y(history.inUse[step]); // a line over the areas would hide a peak of one step
  const [bottom, below] = [top + STACK.height, top + STACK.height + 36];
  const list = isNarrow ? { x: PLANE.left, y: below + 14 } : { x: right + 20, y: top + 6 };
  const height = isNarrow ? list.y + STACK_ROW * rows.length + PLANE.margin : below;
  return { history, totals, rows, width, right, high, axis, y, lineEnd, head, top, curveTop: top - 8, bottom, height, side: width, list };
}

export function stackGround(layout) {
  const { history, width, height, axis, right, high } = layout;
  const begin = axis.x(history.peak);
  const peak = text(0, layout.top - 12, fill(WORDS.memoryPicture.peak, { size: sizeInWords(history.inUse[history.peak]) }), { weight: 650 });
  const x = Math.min(Math.max(begin - widthOfText(peak) / 2, PLANE.left), right - widthOfText(peak));
  const marks = [
    rectangle(0.5, 0.5, width - 1, height - 1, "", { stroke: "hair", radius: 8 }), ...layout.head, ...stackScale(layout), ...stackAreas(layout),
    ...axis.spans(history.spans, layout.bottom),
    ...(axis.shows(history.peak) ? [line(begin, layout.curveTop, begin, layout.lineEnd(history.peak), { stroke: "ink", width: 1.3 }), { ...peak, x }] : []),
    ...stackList(layout.rows, layout.list, width - PLANE.margin),
  ];
  const about = { name: history.name, size: sizeInWords(history.inUse[history.peak]) };
  return { width, height, title: fill(WORDS.memoryPicture.stackAbout, about), marks };
}

export function stackMoment(layout, step) {
  return { width: layout.width, height: layout.height, clear: true, marks: scrubberAt(layout, step) };
}

export function stackScale({ top, high, right }) {
  return [0, 1, 2, 3, 4].flatMap((quarter) => {
    const [y, size] = [top + (STACK.height * (4 - quarter)) / 4, Math.floor((high * quarter) / 4)];
    return [line(PLANE.left, y, right, y), text(PLANE.left - 8, y + 4, size ? sizeInWords(size) : "0 B", { ...SMALL, anchor: "end" })];
  });
}

// An area for each group; a column shows the step of its highest use, and narrow ones fill whole px, so that all are seen.
function stackAreas({ history, totals, axis, y }) {
  const edge = history.everyStep ? Math.round : (px) => px;
  const columns = axis.columns(history.everyStep ? 1 : 0).map(([first, end, left, right]) => {
    let top = first;
    for (let step = first; step < end; step++) if (history.inUse[step] > history.inUse[top]) top = step;
    return [top, edge(left), edge(right)];
  });
  const levels = history.groups.map((group) => columns.map(([step]) => totals.get(group)[step]));
  return stackedAreas(history.groups, levels, columns.map(([, left, right]) => [left, right]), y);
}

// An area for each group with bytes: `levels` has its bytes in each column, `sides` the px of the columns.
export function stackedAreas(groups, levels, sides, y) {
  let base = sides.map(() => 0);
  return groups.flatMap(({ name, fill: token }, number) => {
    const low = base;
    base = base.map((size, at) => size + levels[number][at]);
    if (!levels[number].some(Boolean)) return [];
    const edge = (sizes) => sides.flatMap(([left, right], at) => [[left, y(sizes[at])], [right, y(sizes[at])]]);
    return [path([...edge(base), ...edge(low).reverse()], { fill: token, closed: true, title: name })];
  });
}

// Token, name and figure of each group that has any bytes, and of the total.
export function compositionAt(groups, totals, step, used) {
  const row = (token, name, size) => ({ token, name, figure: text(0, 0, size ? sizeInWords(size) : "0 B", { weight: 600, anchor: "end" }) });
  const held = [...groups].reverse().filter((group) => totals.get(group)[step]);
  const rows = held.map((group) => row(group.fill, text(0, 0, fitted(group.name, STACK.longestName)), totals.get(group)[step]));
  return [...rows, row("", text(0, 0, WORDS.memoryPicture.inUse, { weight: 650 }), used)];
}

export function stackList(rows, { x: left, y: top }, right) {
  let y = top;
  const marks = [text(left, y, WORDS.memoryPicture.atPeak, SMALL)];
  for (const { token, name, figure } of rows) {
    y += STACK_ROW;
    marks.push(token ? rectangle(left, y - 9, 10, 10, token, { radius: 2 }) : line(left, y - 14, right, y - 14));
    y += token ? 0 : 4;
    marks.push({ ...name, x: left + (token ? 16 : 0), y }, { ...figure, x: right, y });
  }
  return marks;
}
