// Draws how much memory each group holds over time, mark by mark as stills/memory_stack.py does, and the current step.

import { fitted, line, path, rectangle, text, widthOfText } from "./picture.js";
import { groupLevels } from "./memory_pieces.js";
import { wholeAxis } from "./plane_axis.js";
import { PLANE, SMALL } from "./plane_chunks.js";
import { roundedUp, scrubberAt } from "./plane_picture.js";
import { sizeInWords } from "./sizes.js";
import { WORDS, fill } from "./words.js";

const STACK_HEIGHT = 240;
const STACK_SIDE = 198;
const STACK_TOP = 60;
const STACK_LEAST = 480;
const LONGEST_NAME = 190; // px

// The layout of a picture of some width; the same for all steps.
export function stackLayout(history, asked, view = null) {
  const width = Math.max(asked, STACK_LEAST);
  const totals = groupLevels(history);
  const used = history.inUse[history.peak];
  const rows = compositionAt(history.groups, totals, history.peak, used);
  const side = Math.max(STACK_SIDE, ...rows.map(({ name, figure }) => 46 + widthOfText(name) + widthOfText(figure)));
  const right = width - side - PLANE.margin;
  const high = roundedUp(Math.max(used, 1));
  const whole = wholeAxis(history, PLANE.left, right, high / STACK_HEIGHT, [history.peak]);
  const axis = view ? whole.zoomed(view.from, view.to) : whole;
  const y = (size) => STACK_TOP + STACK_HEIGHT * (1 - size / high);
  const lineEnd = (step) => y(history.inUse[step]); // a line over the areas would hide a peak of one step
  return { history, totals, rows, width, right, high, axis, y, lineEnd, curveTop: STACK_TOP - 8, bottom: STACK_TOP + STACK_HEIGHT, height: STACK_TOP + STACK_HEIGHT + 36, side: width };
}

export function stackGround(layout) {
  const { history, width, height, axis, right, high } = layout;
  const title = text(PLANE.margin, 28, fill(WORDS.memoryPicture.whoOverTime, { name: history.name }), { size: 15, weight: 650 });
  const begin = axis.x(history.peak);
  const peak = text(0, STACK_TOP - 12, fill(WORDS.memoryPicture.peak, { size: sizeInWords(history.inUse[history.peak]) }), { weight: 650 });
  const x = Math.min(Math.max(begin - widthOfText(peak) / 2, PLANE.left), right - widthOfText(peak));
  const marks = [
    rectangle(0.5, 0.5, width - 1, height - 1, "", { stroke: "hair", radius: 8 }), title, ...stackScale(high, right), ...stackAreas(layout),
    ...axis.spans(history.spans, layout.bottom),
    ...(axis.shows(history.peak) ? [line(begin, layout.curveTop, begin, layout.lineEnd(history.peak), { stroke: "ink", width: 1.3 }), { ...peak, x }] : []),
    ...stackList(layout.rows, right + 20, width - PLANE.margin),
  ];
  const about = { name: history.name, size: sizeInWords(history.inUse[history.peak]) };
  return { width, height, title: fill(WORDS.memoryPicture.stackAbout, about), marks };
}

export function stackMoment(layout, step) {
  return { width: layout.width, height: layout.height, clear: true, marks: scrubberAt(layout, step) };
}

function stackScale(high, right) {
  return [0, 1, 2, 3, 4].flatMap((quarter) => {
    const [y, size] = [STACK_TOP + (STACK_HEIGHT * (4 - quarter)) / 4, Math.floor((high * quarter) / 4)];
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
function compositionAt(groups, totals, step, used) {
  const row = (token, name, size) => ({ token, name, figure: text(0, 0, size ? sizeInWords(size) : "0 B", { weight: 600, anchor: "end" }) });
  const held = [...groups].reverse().filter((group) => totals.get(group)[step]);
  const rows = held.map((group) => row(group.fill, text(0, 0, fitted(group.name, LONGEST_NAME)), totals.get(group)[step]));
  return [...rows, row("", text(0, 0, WORDS.memoryPicture.inUse, { weight: 650 }), used)];
}

function stackList(rows, left, right) {
  let y = STACK_TOP + 6;
  const marks = [text(left, y, WORDS.memoryPicture.atPeak, SMALL)];
  for (const { token, name, figure } of rows) {
    y += 22;
    marks.push(token ? rectangle(left, y - 9, 10, 10, token, { radius: 2 }) : line(left, y - 14, right, y - 14));
    y += token ? 0 : 4;
    marks.push({ ...name, x: left + (token ? 16 : 0), y }, { ...figure, x: right, y });
  }
  return marks;
}
