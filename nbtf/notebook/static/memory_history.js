// A small curve of memory over time, on one scale for all devices of a view. The scale need not reach up to their limits:
// relative to a card of many GiB, small amounts would be invisible.
//
// Every change is visible, however short it was, because most cells of a tutorial end within a millisecond. Pool and memory in
// use share a lane if both are visible on its scale; otherwise each has its own.

import { attr, h, keyed, put, s, seconds } from "./dom.js";
import { inUnits } from "./memory_moment.js";
import { WORDS, fill } from "./words.js";

const WIDE = 1000;
const HIGH = 120; // 100 up to the maximum, and 20 above it
const APART = 16;
const FEWEST = 12;

export function makeHistory() {
  const lanes = h("div", { class: "nbtf-mem-lanes", role: "img" });
  const caption = h("p", { class: "nbtf-mem-caption" });
  const root = h("div", { class: "nbtf-mem-history" }, lanes, caption);
  root.nbtf = { lanes, caption };
  return root;
}

// The most memory in use, and the largest pool, at any drawn moment.
export function highest(moments) {
  const points = moments.flatMap((moment) => (moment ? moment.points : [])).filter(Boolean);
  const most = (which) => points.reduce((top, point) => Math.max(top, point[which]), 0);
  return { used: most(0), pool: most(1) };
}

// `moment` comes from memoryMoment, `scale` is `highest` for all moments of the view; `small` means space for a single lane.
export function updateHistory(root, name, moment, scale, small = false) {
  const said = WORDS.memoryHistory;
  const { points, cursor, span } = moment;
  const { used, pool } = highest([moment]);
  const shared = scale.pool <= APART * scale.used;
  const both = { key: "both", text: said.scaleBoth, most: Math.max(scale.used, scale.pool), used: true, pool: true };
  const apart = [
    { key: "pool", text: said.scalePool, most: scale.pool, pool: true },
    { key: "used", text: said.scaleUsed, most: scale.used, used: true },
  ];
  const lanes = shared ? [both] : small ? apart.slice(1) : apart;
  keyed(
    root.nbtf.lanes,
    lanes,
    (lane) => lane.key,
    makeLaneOfMemory,
    (node, lane) => drawLane(node, lane, moment, lane.used ? moment.peak : pool),
  );
  const told = cursor === null ? said.changes : said.stepsDrawn;
  const values = {
    name,
    n: points.length,
    time: seconds(span || 0),
    i: (cursor ?? 0) + 1,
    used: inUnits(used),
    pool: inUnits(pool),
  };
  put(root.nbtf.caption, fill(points.length === 1 && cursor === null ? said.change : told, values));
  attr(root.nbtf.lanes, "aria-label", fill(said.historyLabel, values));
}

function makeLaneOfMemory() {
  const parts = {
    label: h("span", { class: "nbtf-mem-scale" }),
    limit: s("line", { class: "nbtf-mem-limit-line", x1: 0, x2: WIDE }),
    top: s("line", { class: "nbtf-mem-top-line", x1: 0, x2: WIDE, y1: HIGH - 100, y2: HIGH - 100 }),
    used: s("path", { class: "nbtf-mem-used-area" }),
    pool: s("path", { class: "nbtf-mem-pool-line" }),
    cursor: s("rect", { class: "nbtf-mem-cursor", y: 6, height: HIGH - 6 }),
  };
  const { label, top, used, pool, limit, cursor } = parts;
  const drawing = s(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    cursor,
    top,
    used,
    pool,
    limit,
  );
  const node = h("div", { class: "nbtf-mem-lane" }, drawing, label);
  node.nbtf = parts;
  return node;
}

function drawLane(node, lane, { points, cursor, limit }, peak) {
  const said = WORDS.memoryHistory;
  const { label, used, pool, limit: line, cursor: mark } = node.nbtf;
  const top = 2 ** Math.ceil(Math.log2(Math.max(256, lane.most)));
  const slot = WIDE / Math.max(FEWEST, points.length);
  const y = (n) => HIGH - (100 * n) / top;
  const reached = limit !== null && limit <= top * 1.1;
  const told = limit === null ? said.scale : reached ? said.scaleAtLimit : said.scaleOfLimit;
  put(label, fill(told, { what: lane.text, peak: inUnits(peak), limit: inUnits(limit ?? 0) }));
  attr(label, "title", fill(said.scaleTop, { top: inUnits(top) }));
  attr(used, "d", lane.used ? outline(points, 0, slot, y, true) : null);
  attr(pool, "d", lane.pool ? outline(points, 1, slot, y, false) : null);
  attr(line, "visibility", reached ? null : "hidden");
  if (reached) (attr(line, "y1", y(limit)), attr(line, "y2", y(limit)));
  attr(mark, "visibility", cursor === null ? "hidden" : null);
  if (cursor !== null) (attr(mark, "x", cursor * slot), attr(mark, "width", slot));
}

// A staircase: each point keeps its height until the next one. Unknown points leave a gap.
function outline(points, which, slot, y, closed) {
  let path = "";
  let open = false;
  points.forEach((point, i) => {
    const x = +(i * slot).toFixed(2);
    if (!point) {
      if (open && closed) path += `V${HIGH}Z`;
      open = false;
      return;
    }
    const height = +y(point[which]).toFixed(2);
    path += open ? `V${height}` : closed ? `M${x} ${HIGH}V${height}` : `M${x} ${height}`;
    path += `H${+((i + 1) * slot).toFixed(2)}`;
    open = true;
  });
  return open && closed ? `${path}V${HIGH}Z` : path;
}
