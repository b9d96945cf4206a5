// Draws a device as a room: what ran there and why, and how full it is.

import { linesOf } from "./flow.js";
import { beginOfText, fitted, path, rectangle, text, widthOf, widthOfText } from "./picture.js";
import { digitsOf, sizeWords } from "./time_scale.js";
import { WORDS, fill, grouped, translated } from "./words.js";

// Heights of rooms, the inner margin, and the width of the bytes in and out of a compact room, in px.
export const ROOM = { tall: 138, compact: 106, host: 44, inside: 12, column: 6, curve: 14, bar: 5, least: 1.5 };

// The op that labels a room: that of the displayed step, otherwise one that requested another device, otherwise the one with the
// most time.
export function mainOp(device) {
  return device.shown ?? device.ops.find((op) => !op.asked) ?? device.ops[0];
}

export function executedOn(device) {
  return device.executed ?? device.ops.reduce((sum, op) => sum + op.times, 0);
}

export function opsInWords(count) {
  return fill(WORDS.deviceMap.ops, { n: count });
}

// A host as a beam across the picture; `sent` are the bytes that it sent to cards.
export function hostMarks(device, x, y, width, sent) {
  const said = WORDS.deviceMap;
  const name = text(x + 16, y + 27, device.name, { size: 13, weight: 650 });
  const marks = [rectangle(x, y, width, ROOM.host, "tint", { stroke: "hair2", radius: 5 }), rectangle(x, y, 4, ROOM.host, "cpy", { radius: 2 }), name];
  let end = x + width - ROOM.inside;
  const total = text(end, y + 27, fill(said.sends, { size: sizeWords(sent) }), { weight: 650, anchor: "end" });
  if (sent && beginOfText(total) > name.x + widthOfText(name) + 12) {
    marks.push(total);
    end = beginOfText(total) - 12;
  }
  const host = text(name.x + widthOfText(name) + 10, y + 27, said.host, { fill: "soft" });
  if (host.x + widthOfText(host) < end) marks.push(host, ...chipMarks(device.ops, host.x + widthOfText(host) + 24, y + 14, end));
  return marks;
}

// A device's room. Compact rooms, used if there are many, omit the reason; the height of the column at their right is `copied`,
// the bytes in and out as a share of the largest room's, or null. A room in which an op is running has a ring and a label.
export function roomMarks(device, x, y, width, isCompact, copied = null) {
  const said = WORDS.deviceMap;
  const height = isCompact ? ROOM.compact : ROOM.tall;
  const padding = isCompact ? 8 : ROOM.inside;
  const [begin, right] = [x + padding, x + width - padding - (copied === null ? 0 : ROOM.column)];
  const op = mainOp(device);
  const asked = !op || op.asked;
  const name = text(begin, y + 20, device.name, { size: 13, weight: 650 });
  const edge = device.now ? { stroke: "focus", strokeWidth: 2 } : { stroke: asked ? "hair2" : "hot" };
  const marks = [rectangle(x + 0.5, y + 0.5, width - 1, height - 1, "paper", { ...edge, radius: 8 }), name];
  if (copied) {
    const high = Math.max(ROOM.least, (height - 16) * copied);
    marks.push(rectangle(x + width - 6 - ROOM.column, y + height - 8 - high, ROOM.column, high, "cpyf", { stroke: "cpy", strokeWidth: 0.8, radius: 1 }));
  }
  const corner = device.now ? [said.now, { fill: "focus", weight: 650 }] : [opsInWords(executedOn(device)), { fill: "soft" }];
  const count = text(right, y + 20, corner[0], { size: 11, anchor: "end", ...corner[1] });
  if ((!isCompact || device.now) && beginOfText(count) > name.x + widthOfText(name) + 8) marks.push(count);
  if (!op) marks.push(text(begin, y + (isCompact ? 42 : 46), fitted(device.nothing ?? said.nothing, right - begin, 12), { fill: "soft" }));
  else if (isCompact) {
    const words = fitted(op.op, right - begin, 12, 400, true) || "…";
    marks.push(text(begin, y + 38, words, { weight: 600, mono: true }));
    marks.push(text(begin, y + 53, fitted(opsInWords(executedOn(device)), right - begin, 11), { fill: "soft", size: 11 }));
  } else marks.push(...workMarks(device, op, asked, begin, y, right));
  if (device.lost) marks.push(text(begin, y + height - 10, fitted(said.lost, right - begin, 12), { fill: "hot", weight: 650 }));
  else if (device.inUse !== null) marks.push(...memoryMarks(device, begin, y + height - 46, right));
  return marks;
}

export function reasonWords(op) {
  return translated("reasons", op.why);
}

function workMarks(device, op, asked, x, y, right) {
  const size = [19, 15, 12].find((each) => widthOf(op.op, each, 400, true) <= right - x) ?? 12;
  const name = text(x, y + 46, fitted(op.op, right - x, size, 400, true), { size, weight: 650, mono: true });
  const marks = [name];
  const end = name.x + widthOfText(name) + 8;
  const times = op.times > 1 ? `× ${grouped(op.times)}` : "";
  if (times && end + widthOf(times, 12) <= right) marks.push(text(end, y + 46, times, { fill: "soft" }));
  const look = { fill: asked ? "soft" : "hot", weight: asked ? 400 : 600 };
  const lines = reasonLines(text(x, y + 63, reasonWords(op), look), right - x, device.ops.length > 1 && asked ? 1 : 2);
  lines.forEach((words, number) => marks.push(text(x, y + 63 + 15 * number, words, { ...look, continues: number > 0 })));
  if (lines.length === 1) marks.push(...chipMarks(device.ops.filter((other) => other !== op), x, y + 69, right));
  return marks;
}

// Breaks a reason at its comma if both halves fit, otherwise between words; surplus lines are dropped.
function reasonLines(reason, room, most) {
  const lines = linesOf(reason, room);
  if (lines.length > most) return most === 1 ? [fitted(reason.words, room, 12, reason.weight)] : lines.slice(0, most);
  const halves = reason.words.split(/(?<=,) /);
  const isFit = halves.every((words) => widthOfText({ ...reason, words }) <= room);
  return lines.length === 2 && halves.length === 2 && isFit ? halves : lines;
}

// Further ops, as many as fit; the last mark says how many more there are.
function chipMarks(ops, x, y, right) {
  const counts = new Map();
  for (const op of ops) counts.set(op.op, (counts.get(op.op) ?? 0) + op.times);
  const marks = [];
  let left = counts.size;
  for (const [op, times] of counts) {
    const words = times > 1 ? `${op} × ${grouped(times)}` : op;
    const width = widthOf(words, 11, 400, true) + 10;
    const more = left > 1 ? widthOf(`+ ${left}`, 11) + 4 : 0;
    if (x + width + more > right) {
      if (left < counts.size || widthOf(`+ ${left}`, 11) + x <= right) marks.push(text(x + 2, y + 12, `+ ${left}`, { fill: "soft", size: 11, continues: marks.length > 0 }));
      return marks;
    }
    const name = text(x + 5, y + 12, words, { size: 11, mono: true, continues: marks.length > 0 });
    marks.push(rectangle(x, y, width, 16, "tint", { radius: 2, isTag: true }), name);
    x += width + 6;
    left -= 1;
  }
  return marks;
}

function memoryMarks(device, x, y, right) {
  const width = right - x;
  const share = device.limit ? device.inUse / device.limit : 0;
  const marks = curveMarks(device.levels, x, y, width);
  marks.push(rectangle(x + 0.5, y + ROOM.curve + 4.5, width - 1, ROOM.bar, "", { stroke: "line", strokeWidth: 0.8, radius: 2 }));
  if (device.inUse) marks.push(rectangle(x, y + ROOM.curve + 4, Math.max(ROOM.least, share * width), ROOM.bar + 1, "fwd", { radius: 1 }));
  const amount = text(x, y + 36, sizeWords(device.inUse), { size: 12, weight: 650 });
  marks.push(amount);
  const percent = percentWords(share);
  for (const words of device.limit ? [fill(WORDS.deviceMap.ofLimit, { percent, limit: sizeWords(device.limit) }), percent] : []) {
    const mark = text(right, y + 36, words, { fill: "soft", size: 11, anchor: "end" });
    if (beginOfText(mark) > amount.x + widthOfText(amount) + 8) return [...marks, mark];
  }
  return marks;
}

function percentWords(share) {
  if (share > 0 && share < 1e-4) return "< 0.01 %";
  return share < 0.995 ? `${digitsOf(100 * share, 2)} %` : `${Math.round(100 * share)} %`;
}

// The memory in use over time, as steps up to the highest.
function curveMarks(levels, x, y, width) {
  const most = Math.max(0, ...levels);
  if (!most) return [];
  const step = width / levels.length;
  const points = [[x, y + ROOM.curve]];
  levels.forEach((level, number) => {
    const top = y + ROOM.curve * (1 - level / most);
    points.push([x + number * step, top], [x + (number + 1) * step, top]);
  });
  const end = [x + width, y + ROOM.curve];
  return [path([...points, end], { fill: "tint2", closed: true }), path([...points.slice(1), end], { stroke: "soft" })];
}
