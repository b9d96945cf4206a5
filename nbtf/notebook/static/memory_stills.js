// Draws a device's memory in pictures that stand alone: all pieces of a history are marks, however many there are. `data` is that of
// a page (see stills/memory_data.py).

import { flowed } from "./flow.js";
import { chunksAt, momentOf } from "./memory_pieces.js";
import { framed, text } from "./picture.js";
import { SMALL, addressLabels, chunkLayout, crossSection, freeInWords } from "./plane_chunks.js";
import { planeGround, planeLayout, planeMoment } from "./plane_picture.js";
import { PLANE } from "./plane_sizes.js";
import { historyOf } from "./recorded_history.js";
import { partInWords } from "./sizes.js";
import { stackGround, stackLayout } from "./stack_picture.js";
import { treemapLayout, treemapMoment } from "./treemap_picture.js";
import { WORDS, fill } from "./words.js";

const LEAST_WIDTHS = { stack: 480, treemap: 320 };
const CHUNKS_WIDTH = 460;

export function drawnHistory(data) {
  return Object.assign(historyOf(data), { isPainted: false, everyStep: false });
}

export function planeStill(data, width, step) {
  return planeOf(drawnHistory(data), width, step, true);
}

// A plane with the chunks of a step; `explained` is whether a failed request is explained below.
export function planeOf(history, width, step, explained) {
  const layout = planeLayout(history, Math.max(width, PLANE.leastWidth), null, explained);
  const [ground, moment] = [planeGround(layout), planeMoment(layout, step)];
  const sentences = history.refusals.slice(-1).map(({ sentence }) => sentence);
  const title = [aboutMemory(history, step, history.limit), ...sentences].join(" ");
  return { width: ground.width, height: ground.height, title, marks: [...ground.marks, ...moment.marks] };
}

function aboutMemory(history, step, limit) {
  return fill(WORDS.memoryPicture.about, { name: history.name, used: partInWords(history.inUse[step], limit) });
}

export function stackStill(data, width) {
  return stackGround(stackLayout(drawnHistory(data), Math.max(width, LEAST_WIDTHS.stack)));
}

export function treemapStill(data, width, step) {
  return treemapMoment(treemapLayout(drawnHistory(data), Math.max(width, LEAST_WIDTHS.treemap)), step);
}

// The chunks after the last step.
export function chunksStill(data) {
  const history = drawnHistory(data);
  const [step, right] = [history.steps - 1, CHUNKS_WIDTH - PLANE.margin];
  const counts = { regions: momentOf(history, step).regions.length, n: chunksAt(history, step).length };
  const title = text(0, 0, fill(WORDS.memoryPicture.memoryOf, { name: history.name }), { size: 15, weight: 650 });
  const [head, headEnd] = flowed([title, text(0, 0, fill(WORDS.memoryPicture.chunks, counts), { fill: "soft" })], PLANE.margin, right, 28);
  const about = aboutMemory(history, step, Math.max(history.limit, history.top));
  const [facts, y] = flowed([about, freeInWords(history, step)].map((words) => text(0, 0, words, SMALL)), PLANE.margin, right, headEnd + 20);
  const nbytes = Math.max(history.top, 1);
  const layout = chunkLayout(history, nbytes, y + 16 + PLANE.height, PLANE.height, right);
  const marks = [...head, ...facts, ...addressLabels(0, nbytes, layout.y), ...crossSection(layout, step)];
  return framed(CHUNKS_WIDTH, layout.bottom + PLANE.margin, about, marks);
}
