// Draws why a request did not fit: what would make it fit, the figures of the error, and the memory at that time.
//
// The input comes from stills/out_of_memory.py: the data of the device's memory, and {answer, request: with the sentences of the
// error, line, hints: as text; both may be empty}.

import { flowed } from "./flow.js";
import { drawnHistory, planeOf } from "./memory_stills.js";
import { momentOf } from "./memory_pieces.js";
import { framed, rectangle, text } from "./picture.js";
import { SMALL, addressLabels, chunkLayout, crossSection } from "./plane_chunks.js";
import { PLANE } from "./plane_sizes.js";

const NARROW_REFUSAL = 440; // width of the form for narrow pages, in px
const LEAST_CHUNKS = 130; // minimum height of the chunks in that form, in px

export function refusalStill(data, explanation, width) {
  const history = drawnHistory(data);
  const refusal = history.refusals.at(-1);
  const plane = planeOf(history, width, refusal.step, false);
  const rows = [text(0, 0, explanation.answer, { size: 19, weight: 650 }), text(0, 0, explanation.request)];
  if (explanation.line) rows.push(text(0, 0, explanation.line, { ...SMALL, mono: true }));
  if (explanation.hints) rows.push(text(0, 0, explanation.hints, SMALL));
  const [head, y] = besideRedBar(rows, width);
  const height = y + plane.height;
  const marks = [...head, ...plane.marks.slice(1).map((mark) => lowered(mark, y))]; // without the plane's own frame
  const narrow = narrowForm(history, refusal, explanation, (height * NARROW_REFUSAL) / width);
  return { ...framed(width, height, `${plane.title} ${explanation.answer}.`, marks), narrow };
}

function besideRedBar(rows, width) {
  const marks = [];
  let y = 18;
  for (const row of rows) {
    const [texts, end] = flowed([row], PLANE.margin + 14, width - PLANE.margin, y + (marks.length ? 18 : row.size - 3));
    marks.push(...texts);
    y = end;
  }
  return [[rectangle(PLANE.margin, 18, 5, y - 14, "hot", { radius: 2 }), ...marks], y + 8];
}

// The answer, the figures, and the chunks at the failure with the request over the largest hole.
function narrowForm(history, { step, nbytes }, { answer, request }, height) {
  const rows = [text(0, 0, answer, { size: 15, weight: 650 }), text(0, 0, request, { size: 11 })];
  const [head, y] = besideRedBar(rows, NARROW_REFUSAL);
  const room = Math.max(height - y - 2 * PLANE.margin, LEAST_CHUNKS);
  const limit = Math.max(history.limit, history.top, 1);
  const layout = chunkLayout(history, limit, y + PLANE.margin + room, room, NARROW_REFUSAL - PLANE.margin);
  const { holes } = momentOf(history, step);
  const [, start, size] = holes.reduce((most, hole) => (hole[2] > most[2] ? hole : most), holes[0] ?? [null, 0, 0]);
  const high = Math.min((nbytes / limit) * room, room);
  const top = Math.min(Math.max(layout.y(start + size / 2) - high / 2, layout.top), layout.bottom - high);
  const needed = rectangle(PLANE.left - 4, top, PLANE.bar + 8, high, "", { stroke: "hot", strokeWidth: 1.8, radius: 3, dashed: true });
  const marks = [...head, ...addressLabels(0, limit, layout.y), ...crossSection(layout, step), needed];
  return framed(NARROW_REFUSAL, Math.max(height, layout.bottom + PLANE.margin), answer, marks);
}

// A mark further down, by some px.
function lowered(mark, by) {
  const { mark: kind } = mark;
  if (kind === "group") return { ...mark, marks: mark.marks.map((inner) => lowered(inner, by)) };
  if (kind === "line") return { ...mark, y1: mark.y1 + by, y2: mark.y2 + by };
  if (kind === "path") return { ...mark, points: mark.points.map(([x, y]) => [x, y + by]) };
  if (kind === "boxes") return { ...mark, sides: mark.sides.map(([x, y, width, height]) => [x, y + by, width, height]) };
  return { ...mark, y: mark.y + by };
}
