// Draws the memory of a device in a snapshot over time, stacked, as the picture that readers without scripts see.
//
// The input comes from snapshots/still.py: {name, groups: [{name, fill}], levels: the bytes of each group in each column, atPeak: the
// bytes of each group, inUse: their sum, peak: the number of the peak's column}.

import { framed, line, text, widthOfText } from "./picture.js";
import { roundedUp } from "./plane_picture.js";
import { PLANE } from "./plane_sizes.js";
import { sizeInWords } from "./sizes.js";
import { SMALL } from "./plane_chunks.js";
import { STACK, compositionAt, stackList, stackScale, stackedAreas } from "./stack_picture.js";
import { WORDS, fill } from "./words.js";

export function snapshotStill({ name, groups, levels, atPeak, inUse, peak }, width) {
  const rows = compositionAt(groups, new Map(groups.map((group, at) => [group, [atPeak[at]]])), 0, inUse);
  const side = Math.max(STACK.side, ...rows.map((row) => 46 + widthOfText(row.name) + widthOfText(row.figure)));
  const [right, high, bottom] = [width - side - PLANE.margin, roundedUp(Math.max(inUse, 1)), STACK.top + STACK.height];
  const across = (right - PLANE.left) / levels[0].length;
  const sides = levels[0].map((_, at) => [PLANE.left + across * at, PLANE.left + across * (at + 1)]);
  const y = (size) => bottom - (size / high) * STACK.height;
  const begin = PLANE.left + across * (peak + 0.5);
  const title = text(PLANE.margin, 28, fill(WORDS.memoryPicture.whoOverTime, { name }), { size: 15, weight: 650 });
  const most = text(0, STACK.top - 12, fill(WORDS.memoryPicture.peak, { size: sizeInWords(inUse) }), { weight: 650 });
  const marks = [
    title, text(title.x + widthOfText(title) + 12, 28, WORDS.timeline.measured, SMALL),
    ...stackScale({ top: STACK.top, high, right }), ...stackedAreas(groups, levels, sides, y),
    line(begin, STACK.top - 8, begin, y(inUse), { stroke: "ink", width: 1.3 }),
    { ...most, x: Math.min(Math.max(begin - widthOfText(most) / 2, PLANE.left), right - widthOfText(most)) },
    ...stackList(rows, { x: right + 20, y: STACK.top + 6 }, width - PLANE.margin),
  ];
  const about = fill(WORDS.memoryPicture.stackAbout, { name, size: sizeInWords(inUse) });
  return framed(width, Math.max(bottom, STACK.top + 22 * (rows.length + 1)) + 36, about, marks);
}
