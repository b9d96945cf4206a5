// Draws how much each holder has at a step, and the selected piece.

import { flowed } from "./flow.js";
import { momentOf, pieceObject, piecesAt, sumsOfPieces } from "./memory_pieces.js";
import { rectangle, text, widthOfText } from "./picture.js";
import { shortened } from "./plane_chunks.js";
import { PLANE } from "./plane_sizes.js";
import { sizeInWords } from "./sizes.js";
import { WORDS, fill, grouped } from "./words.js";

const TREEMAP = { height: 300, head: 22 }; // in px
const MOST_SUMS = 200;
const TREEMAP_LEAST = 220;

export function treemapLayout(history, asked) {
  return { history, width: Math.max(asked, TREEMAP_LEAST) };
}

// The complete picture; `boxes` are the pieces with their positions.
export function treemapMoment({ history, width }, step, chosen = null) {
  const pieces = history.isPainted ? largestSums(history, step) : piecesAt(history, step);
  const groups = new Map();
  for (const piece of [...pieces].sort((a, b) => b.size - a.size)) groups.set(piece.group, [...(groups.get(piece.group) ?? []), piece]);
  const order = [...groups].sort(([, a], [, b]) => chargedTo(b) - chargedTo(a));
  const title = fill(WORDS.memoryPicture.whoHolds, { name: history.name });
  const count = fill(WORDS.memoryPicture.treemapCount, { size: sizeInWords(chargedTo(pieces)), n: momentOf(history, step).alive.length });
  const moment = step === history.peak ? [text(0, 0, WORDS.memoryPicture.atPeak, { weight: 600 })] : [];
  const [head, y] = flowed([text(0, 0, title, { size: 15, weight: 650 }), ...moment, text(0, 0, count, { fill: "soft" })], PLANE.margin, width - PLANE.margin, 28);
  const whole = { x: PLANE.margin, y: y + 16, width: width - 2 * PLANE.margin, height: TREEMAP.height };
  const height = whole.y + TREEMAP.height + 14;
  const boxes = [];
  const marks = [rectangle(0.5, 0.5, width - 1, height - 1, "", { stroke: "hair", radius: 8 }), ...head];
  squarified(order.map(([, members]) => chargedTo(members)), whole).forEach((box, at) => marks.push(...containerMarks(...order[at], box, boxes)));
  const isChosen = ({ piece }) => chosen?.piece && (piece === chosen.piece || (piece.member && piece.kind === history.kinds[chosen.piece.at]));
  const frame = boxes.find(isChosen)?.box;
  if (frame) marks.push(rectangle(frame.x - 1, frame.y - 1, frame.width + 2, frame.height + 2, "", { stroke: "focus", strokeWidth: 2, radius: 4 }));
  return { width, height, title: `${title}: ${[...moment.map(({ words }) => words), count].join(" · ")}`, marks, boxes };
}

// The largest sums of pieces; the others are one box in each group.
function largestSums(history, step) {
  const sums = sumsOfPieces(history, step);
  const largest = sums.slice(0, MOST_SUMS).map(({ at, count, size, requested }) => {
    const member = pieceObject(history, at);
    const shape = count > 1 ? `${count} × ${sizeInWords(member.size)}` : member.shape;
    return { ...member, size, requested, member, kind: history.kinds[at], shape };
  });
  const rest = new Map();
  for (const { at, size, requested } of sums.slice(MOST_SUMS)) {
    const group = history.groups[history.groupOf[at]];
    if (!rest.has(group)) rest.set(group, { group, size: 0, requested: 0, count: 0 });
    const sum = rest.get(group);
    sum.size += size;
    sum.requested += requested;
    sum.count += 1;
  }
  const boxes = [...rest.values()].map((sum) => ({ ...sum, title: fill(WORDS.snapshot.others, { n: sum.count }), shape: "" }));
  return [...largest, ...boxes];
}

function chargedTo(pieces) {
  return pieces.reduce((sum, { size }) => sum + size, 0);
}

// Boxes for sizes in descending order, with proportional areas, each as square as possible.
export function squarified(sizes, whole) {
  const boxes = [];
  let [box, at, total] = [whole, 0, sizes.reduce((sum, size) => sum + size, 0)];
  while (at < sizes.length && total && box.width > 0 && box.height > 0) {
    const [scale, side, isTall] = [(box.width * box.height) / total, Math.min(box.width, box.height), box.width <= box.height];
    let [count, sum] = [1, sizes[at]];
    while (at + count < sizes.length && leastSquare(sum + sizes[at + count], sizes[at], sizes[at + count], scale, side) <= leastSquare(sum, sizes[at], sizes[at + count - 1], scale, side)) sum += sizes[at + count++];
    const thickness = (sum * scale) / side;
    let offset = 0;
    for (const size of sizes.slice(at, at + count)) {
      const length = (size * scale) / thickness;
      boxes.push(isTall ? { x: box.x + offset, y: box.y, width: length, height: thickness } : { x: box.x, y: box.y + offset, width: thickness, height: length });
      offset += length;
    }
    at += count;
    total -= sum;
    box = isTall ? { ...box, y: box.y + thickness, height: box.height - thickness } : { ...box, x: box.x + thickness, width: box.width - thickness };
  }
  while (boxes.length < sizes.length) boxes.push({ x: box.x, y: box.y, width: 0, height: 0 });
  return boxes;
}

// The aspect ratio of the least square box of a row.
function leastSquare(sum, largest, smallest, scale, side) {
  const area = sum * scale;
  return Math.max((side ** 2 * largest * scale) / area ** 2, area ** 2 / (side ** 2 * smallest * scale));
}

function insetBox({ x, y, width, height }, margin, head = 0) {
  return { x: x + margin, y: y + margin + head, width: Math.max(width - 2 * margin, 0), height: Math.max(height - 2 * margin - head, 0) };
}

function boxMark({ x, y, width, height }, token, rest) {
  return rectangle(x, y, width, height, token, rest);
}

// The box of a group, with those of its pieces.
function containerMarks(group, pieces, box, boxes) {
  const token = group.fill;
  const hasHead = box.width > 90 && box.height > 44;
  const [name, size] = [group.name, sizeInWords(chargedTo(pieces))];
  const marks = [boxMark(insetBox(box, 1), "", { stroke: token, strokeWidth: 1.5, radius: 4, title: `${name}: ${size}` })];
  if (hasHead) {
    const figure = text(box.x + box.width - 8, box.y + 16, size, { fill: "soft", weight: 600, anchor: "end" });
    const head = text(box.x + 8, box.y + 16, name, { weight: 650 });
    const both = widthOfText(head) + 8 <= figure.x - widthOfText(figure) - head.x;
    marks.push(...(both ? [figure, head] : [widthOfText(head) <= box.width - 16 ? head : figure])); // the pieces have sizes of their own
  }
  squarified(pieces.map((piece) => piece.size), insetBox(box, 3, hasHead ? TREEMAP.head : 0)).forEach((inside, at) => {
    if (Math.min(inside.width, inside.height) < 1) return; // smaller pieces are left to the box of their group
    boxes.push({ piece: pieces[at], box: inside });
    marks.push(...pieceMarks(pieces[at], token, inside));
  });
  return marks;
}

function pieceMarks(piece, token, box) {
  const inside = insetBox(box, Math.min(box.width, box.height) > 4 ? 1 : 0);
  const title = `${`${piece.title} ${piece.shape}`.trimEnd()}: ${grouped(piece.size)} B`;
  const marks = [boxMark(inside, token, { radius: Math.min(3, inside.width / 4), opacity: 0.17, title, data: { start: piece.start } })];
  if (box.width > 8 && box.height > 8) marks.push(rectangle(inside.x, inside.y, 4, inside.height, token, { radius: 1.5 }));
  const [size, room] = [sizeInWords(piece.requested), box.width - 16];
  const figures = [`${size}  ${piece.shape}`.trimEnd(), size].map((said) => text(0, 0, said, { fill: "soft", size: 11 }));
  const names = piece.title.split(" · ").filter(Boolean).map((part) => text(0, 0, shortened(part, room), { size: 11, weight: 600, mono: true }));
  const lines = [...names, ...figures.filter((figure) => widthOfText(figure) <= room).slice(0, 1)]; // figures are never cut
  lines.forEach((mark, at) => {
    const y = box.y + 16 + 15 * at;
    if (mark.words && y + 4 <= box.y + box.height) marks.push({ ...mark, x: box.x + 11, y });
  });
  return marks;
}
