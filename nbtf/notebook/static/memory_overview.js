// Draws the memory of a whole history that is too long to draw piece by piece, and the window of which the page has every piece.

import { decoded } from "./packed_numbers.js";
import { line, rectangle, text, widthOfText } from "./picture.js";
import { SMALL } from "./plane_chunks.js";
import { roundedUp } from "./plane_picture.js";
import { PLANE } from "./plane_sizes.js";
import { stackedAreas } from "./stack_picture.js";
import { sizeInWords } from "./sizes.js";
import { WORDS, fill } from "./words.js";

const WHOLE_HEIGHT = 64;
const WHOLE_TOP = 34;

export function overviewPicture(history, asked) {
  const { overview: { steps, window: [first, end], columns }, groups } = history;
  const width = Math.max(asked, PLANE.leastWidth);
  const [left, right, bottom] = [PLANE.left, width - PLANE.margin, WHOLE_TOP + WHOLE_HEIGHT];
  const levels = columnLevels(history);
  const sums = levels[0].map((_, at) => levels.reduce((sum, level) => sum + level[at], 0));
  const high = roundedUp(Math.max(...sums, 1));
  const x = (share) => left + share * (right - left);
  const sides = sums.map((_, at) => [x(at / columns), x((at + 1) / columns)]);
  const y = (size) => bottom - (size / high) * WHOLE_HEIGHT;
  const said = fill(WORDS.snapshot.overview, { steps, first: first + 1, end });
  const [begin, last] = [x(first / steps), Math.max(x(end / steps), x(first / steps) + 2)];
  const label = { ...SMALL, anchor: "end" };
  const title = text(left, 20, said, { fill: "soft" });
  const marks = [
    rectangle(0.5, 0.5, width - 1, bottom + 11, "", { stroke: "hair", radius: 8 }), title,
    ...stackedAreas(groups, levels, sides, y), line(left, bottom, right, bottom),
    text(left - 8, WHOLE_TOP + 8, sizeInWords(high), label), text(left - 8, bottom, "0 B", label),
    rectangle(begin, WHOLE_TOP - 2, last - begin, WHOLE_HEIGHT + 4, "", { stroke: "focus", strokeWidth: 2, radius: 3 }),
  ];
  return { width: Math.max(width, widthOfText(title) + left), height: bottom + 12, title: said, marks };
}

// The bytes of each group in each column, of the current way to group.
function columnLevels({ overview, groupings, grouping }) {
  const { by } = groupings[grouping];
  overview.decoded ??= {};
  overview.decoded[by] ??= overview.levels[by].map((packed) => [...decoded(packed, Float64Array)]);
  return overview.decoded[by];
}
