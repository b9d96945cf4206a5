// The memory map: regions as rows, with their chunks to scale, and details of one chunk.
//
// The map describes the chunk that is pointed at, focused or tapped. Device, region and offset identify it, so it stays the same
// while the map changes.

import { attr, h, keyed, put } from "./dom.js";
import { chunkFacts, chunkLabel, drawnChunks, fragmentation, readChunks, textInside } from "./memory_chunks.js";
import { focusedChunk, moveAmongChunks, reachChunks, refocusChunk } from "./memory_keys.js";
import { inUnits } from "./memory_moment.js";
import { WORDS, fill } from "./words.js";

const BESIDE = 148; // pixels besides the drawing, as in the style sheet: label, padding
const BESIDE_NARROW = 28;
const OPEN = 4; // number of maps that are open initially
const LEAST_TRACK = 64;

// `view` has `width` (pixels of the drawing) and `ui`.
export function makeMap(name, view) {
  const said = WORDS.memory;
  const parts = {
    toggle: h("button", { type: "button", class: "nbtf-mem-toggle" }, said.map),
    summary: h("span", { class: "nbtf-mem-summary" }),
    split: h("p", { class: "nbtf-mem-split" }),
    regions: h("div", { class: "nbtf-mem-regions", role: "group", "aria-label": fill(said.mapLabel, { name }) }),
    title: h("strong", { class: "nbtf-mem-chunk-title" }),
    facts: h("dl", { class: "nbtf-mem-facts" }),
    enlarge: h("button", { type: "button", class: "nbtf-mem-enlarge", hidden: "" }),
    before: h(
      "button",
      { type: "button", class: "nbtf-mem-before", "aria-label": said.before, title: said.before },
      "‹",
    ),
    after: h("button", { type: "button", class: "nbtf-mem-after", "aria-label": said.after, title: said.after }, "›"),
  };
  parts.details = h(
    "div",
    { class: "nbtf-mem-details" },
    h("div", { class: "nbtf-mem-details-head" }, parts.before, parts.after, parts.title, parts.enlarge),
    parts.facts,
  );
  parts.body = h("div", { class: "nbtf-mem-map-body" }, parts.split, parts.regions, parts.details);
  const root = h(
    "div",
    { class: "nbtf-mem-map" },
    h("div", { class: "nbtf-mem-map-head" }, parts.toggle, parts.summary),
    parts.body,
  );
  root.nbtf = { ...parts, view, chosen: null, pointed: null, part: null, open: null, opened: false };
  listen(root);
  return root;
}

function listen(root) {
  const own = root.nbtf;
  const chunkAt = (event) => event.target.closest(".nbtf-mem-chunk");
  const point = (node) => {
    if (!node) return; // keep the last details, so that nothing jumps
    own.pointed = node.nbtf.key;
    showChunk(root);
  };
  const choose = (event) => {
    const node = chunkAt(event);
    if (node) chooseChunk(root, node);
  };
  own.toggle.addEventListener("click", () => {
    own.open = !isOpen(own);
    own.view.ui.changed();
  });
  own.regions.addEventListener("pointerover", (event) => event.pointerType === "mouse" && point(chunkAt(event)));
  own.regions.addEventListener("focusin", choose);
  own.regions.addEventListener("click", choose);
  own.enlarge.addEventListener("click", () => enlarge(root));
  own.before.addEventListener("click", () => step(root, -1));
  own.after.addEventListener("click", () => step(root, 1));
  moveAmongChunks(own.regions);
}

function isOpen(own) {
  return own.open ?? own.opened;
}

export function updateMap(root, device, state, replayed) {
  const few = state.devices.filter((one) => one.map).length <= OPEN;
  const own = root.nbtf;
  const { map, memory } = device;
  const said = WORDS.memory;
  if (memory?.peak > 0 && few) own.opened = true; // if nothing was ever in use, the map is one empty box
  own.device = device;
  const values = { regions: map.regions.length, n: map.chunks, shown: map.shown };
  const summary = fill(map.shown < map.chunks ? said.summaryCut : said.summary, values);
  put(own.summary, replayed ? fill(said.mapIsEnd, { summary }) : summary);
  attr(own.toggle, "aria-expanded", String(isOpen(own)));
  own.body.hidden = !isOpen(own);
  if (!isOpen(own)) return;
  put(own.split, fragmentation(device));
  const focused = focusedChunk(own.regions);
  const largest = Math.max(1, ...map.regions.map((region) => region.size));
  const width = own.view.width - (own.view.ui.narrow() ? BESIDE_NARROW : BESIDE);
  const regions = map.regions.map((region, number) => drawnRegion(own, region, number, largest, width, map.words));
  keyed(
    own.regions,
    regions,
    (region) => region.number,
    (region) => makeRegion(root, region),
    updateRegion,
  );
  if (focused) refocusChunk(own.regions, focused);
  reachChunks(own.regions, own.chosen);
  showChunk(root);
}

// A region, or the enlarged part of it.
function drawnRegion(own, region, number, largest, width, words) {
  const track = Math.max(LEAST_TRACK, (width * region.size) / largest);
  const all = readChunks(region, words);
  const part =
    own.part && own.part.number === number
      ? all.filter((one) => one.offset >= own.part.from && one.offset < own.part.to)
      : all;
  if (part !== all && part.length < 2) own.part = null;
  const enlarged = own.part !== null && own.part.number === number;
  const chunks = enlarged ? part : all;
  const pixels = enlarged ? width : track;
  return {
    number,
    size: region.size,
    enlarged,
    pixels,
    chunks: drawnChunks(chunks, pixels),
    track: enlarged ? 1 : region.size / largest,
    shown: chunks.reduce((sum, chunk) => sum + chunk.size, 0),
    at: chunks[0]?.offset || 0,
  };
}

function makeRegion(root, { number }) {
  const said = WORDS.memory;
  const parts = {
    size: h("span", { class: "nbtf-mem-region-size" }),
    whole: h(
      "button",
      { type: "button", class: "nbtf-mem-whole", hidden: "", onclick: () => showWhole(root) },
      said.whole,
    ),
    track: h("div", { class: "nbtf-mem-track" }),
  };
  const node = h(
    "div",
    { class: "nbtf-mem-region", role: "group" },
    h(
      "div",
      { class: "nbtf-mem-region-label" },
      h("span", null, fill(said.region, { number })),
      parts.size,
      parts.whole,
    ),
    parts.track,
  );
  node.nbtf = parts;
  return node;
}

function updateRegion(node, region) {
  const said = WORDS.memory;
  const own = node.nbtf;
  const { size, whole, track } = own;
  const values = {
    number: region.number,
    size: inUnits(region.size),
    shown: inUnits(region.shown),
    at: inUnits(region.at),
  };
  put(size, values.size);
  size.hidden = region.enlarged;
  attr(node, "aria-label", fill(region.enlarged ? said.regionPartLabel : said.regionLabel, values));
  whole.hidden = !region.enlarged;
  const wide = `max(${LEAST_TRACK}px, ${(100 * region.track).toFixed(2)}%)`;
  if (own.wide !== wide) track.style.width = own.wide = wide;
  for (const chunk of region.chunks) chunk.key = `${region.number} ${chunk.offset}`;
  keyed(
    track,
    region.chunks,
    (chunk) => chunk.key,
    makeChunk,
    (one, chunk) => updateChunk(one, chunk, region),
  );
}

function makeChunk() {
  return h(
    "button",
    { type: "button", class: "nbtf-mem-chunk", tabindex: "-1" },
    h("span", { class: "nbtf-mem-text" }),
  );
}

// Touches the page only where a chunk changed: there may be hundreds, ten times per second.
function updateChunk(node, chunk, region) {
  const old = node.nbtf;
  node.nbtf = chunk;
  chunk.region = region.number;
  chunk.text = textInside(chunk, region.pixels * chunk.share);
  if (!old || old.kind !== chunk.kind) node.dataset.kind = chunk.kind;
  if (!old || old.share !== chunk.share) node.style.flexBasis = `${100 * chunk.share}%`;
  if (!old || old.wider !== chunk.wider) attr(node, "data-wider", chunk.wider ? "" : null);
  if (!old || old.text !== chunk.text) put(node.firstChild, chunk.text);
  const label = ["size", "kind", "count", "out", "op", "holder"];
  if (!old || label.some((name) => old[name] !== chunk[name])) attr(node, "aria-label", chunkLabel(chunk));
}

// Details of one chunk

function chooseChunk(root, node) {
  const own = root.nbtf;
  own.pointed = null;
  own.chosen = node.nbtf.key;
  reachChunks(own.regions, own.chosen);
  showChunk(root);
}

function chunkNode(own, key) {
  return key === null
    ? undefined
    : [...own.regions.querySelectorAll(".nbtf-mem-chunk")].find((node) => node.nbtf.key === key);
}

function showChunk(root) {
  const own = root.nbtf;
  const said = WORDS.memory;
  const node = chunkNode(own, own.pointed) || chunkNode(own, own.chosen);
  for (const one of own.regions.querySelectorAll("[data-shown]")) if (one !== node) one.removeAttribute("data-shown");
  if (node) attr(node, "data-shown", "");
  const chunk = node?.nbtf;
  const told = chunk ? chunkFacts(chunk, chunk.region) : { title: "", facts: [] };
  put(own.title, told.title);
  own.details.hidden = !chunk;
  keyed(own.facts, told.facts, ([key]) => key, makeFact, updateFact);
  own.enlarge.hidden = !chunk?.inside;
  put(own.enlarge, chunk?.inside ? fill(said.enlarge, { n: chunk.count }) : "");
}

function makeFact([, label]) {
  return h("div", { class: "nbtf-mem-fact" }, h("dt", null, label), h("dd"));
}

function updateFact(node, [key, , text]) {
  attr(node, "data-of", key);
  put(node.lastChild, text);
}

// Buttons beside the facts, for fingers that are wider than a chunk.
function step(root, by) {
  const own = root.nbtf;
  const all = [...own.regions.querySelectorAll(".nbtf-mem-chunk")];
  const at = all.findIndex((node) => node.nbtf.key === own.chosen);
  const next = at < 0 ? all[0] : all[Math.max(0, Math.min(all.length - 1, at + by))];
  if (next) chooseChunk(root, next);
}

function enlarge(root) {
  const own = root.nbtf;
  const chunk = chunkNode(own, own.chosen)?.nbtf;
  if (!chunk?.inside) return;
  own.part = { number: chunk.region, from: chunk.offset, to: chunk.offset + chunk.size };
  own.view.redraw();
  chunkNode(own, own.chosen)?.focus();
}

function showWhole(root) {
  const own = root.nbtf;
  own.part = null;
  own.view.redraw();
  (chunkNode(own, own.chosen) || own.regions.querySelector(".nbtf-mem-chunk"))?.focus();
}

export function mapLegend() {
  const said = WORDS.memory;
  const key = (kind, text) =>
    h(
      "span",
      { class: "nbtf-mem-key" },
      h("span", { class: "nbtf-mem-swatch", "data-of": kind, "aria-hidden": "true" }),
      text,
    );
  return h(
    "p",
    { class: "nbtf-mem-legend" },
    key("used", said.legendUsed),
    key("free", said.legendFree),
    key("several", said.legendSeveral),
    key("wider", said.legendWider),
    said.legendHint,
  );
}
