// Draws how much memory each group holds over time, mark by mark as stills/memory_stack.py does, and the current step.

import { line, path, rectangle, text, widthOfText } from "./picture.js";
import { StepColumns } from "./plane_axis.js";
import { GROUP_FILLS, PLANE, SMALL } from "./plane_chunks.js";
import { roundedUp, scrubberAt } from "./plane_picture.js";
import { sizeInWords } from "./sizes.js";
import { WORDS, fill } from "./words.js";

const STACK_HEIGHT = 240;
const STACK_SIDE = 198;
const STACK_TOP = 60;
const STACK_LEAST = 480;

// The layout of a picture of some width; the same for all steps.
export function stackLayout(history, asked) {
  const width = Math.max(asked, STACK_LEAST);
  const totals = groupLevels(history);
  const used = history.inUse[history.peak];
  const rows = compositionAt(totals, history.peak, used);
  const side = Math.max(STACK_SIDE, ...rows.map(({ name, figure }) => 46 + widthOfText(name) + widthOfText(figure)));
  const right = width - side - PLANE.margin;
  const high = roundedUp(Math.max(used, 1));
  const axis = new StepColumns(history, PLANE.left, right, high / STACK_HEIGHT, [history.peak]);
  return { history, totals, rows, width, right, high, axis, curveTop: STACK_TOP - 8, bottom: STACK_TOP + STACK_HEIGHT, height: STACK_TOP + STACK_HEIGHT + 36, side: width };
}

// The bytes of each group after each step.
function groupLevels({ pieces, steps }) {
  const totals = Object.fromEntries(Object.keys(GROUP_FILLS).map((group) => [group, new Float64Array(steps + 1)]));
  for (const { group, size, birth, death } of pieces) ((totals[group][birth] += size), (totals[group][death] -= size));
  for (const levels of Object.values(totals)) for (let step = 1; step <= steps; step++) levels[step] += levels[step - 1];
  return totals;
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
    line(begin, STACK_TOP - 8, begin, layout.bottom, { stroke: "ink", width: 1.3 }), { ...peak, x },
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

// An area for each group; a column shows the step of its highest use.
function stackAreas({ history, totals, axis, high }) {
  const columns = axis.columns().map(([first, end, left, right]) => {
    let top = first;
    for (let step = first; step < end; step++) if (history.inUse[step] > history.inUse[top]) top = step;
    return [top, left, right];
  });
  const y = (size) => STACK_TOP + STACK_HEIGHT * (1 - size / high);
  let base = columns.map(() => 0);
  return Object.entries(GROUP_FILLS).flatMap(([group, token]) => {
    const low = base;
    base = base.map((size, at) => size + totals[group][columns[at][0]]);
    if (!columns.some(([step]) => totals[group][step])) return [];
    const edge = (sizes) => columns.flatMap(([, left, right], at) => [[left, y(sizes[at])], [right, y(sizes[at])]]);
    return [path([...edge(base), ...edge(low).reverse()], { fill: token, closed: true, title: WORDS.memoryPicture[group] })];
  });
}

// Token, name and figure of each group, and of the total.
function compositionAt(totals, step, used) {
  const words = WORDS.memoryPicture;
  const row = (token, name, size) => ({ token, name, figure: text(0, 0, size ? sizeInWords(size) : "0 B", { weight: 600, anchor: "end" }) });
  const groups = Object.entries(GROUP_FILLS).reverse().map(([group, token]) => row(token, text(0, 0, words[group]), totals[group][step]));
  return [...groups, row("", text(0, 0, words.inUse, { weight: 650 }), used)];
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
