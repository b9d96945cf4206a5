// Arrow keys in a memory map: left and right within a region, up and down between regions; one tab stop for the map.

import { attr } from "./dom.js";

const CHUNK = ".nbtf-mem-chunk";

export function moveAmongChunks(regions) {
  regions.addEventListener("keydown", (event) => {
    const from = event.target.closest(CHUNK);
    const to = from && !event.altKey && !event.ctrlKey && !event.metaKey ? neighbour(regions, from, event.key) : null;
    if (!to) return;
    event.preventDefault();
    to.focus();
  });
}

function neighbour(regions, from, key) {
  const rows = [...regions.querySelectorAll(".nbtf-mem-track")];
  const row = from.parentElement;
  const at = rows.indexOf(row);
  if (key === "ArrowRight") return from.nextElementSibling || rows[at + 1]?.firstElementChild;
  if (key === "ArrowLeft") return from.previousElementSibling || rows[at - 1]?.lastElementChild;
  if (key === "ArrowDown") return nearestChunk(rows[at + 1], from);
  if (key === "ArrowUp") return nearestChunk(rows[at - 1], from);
  if (key === "Home") return row.firstElementChild;
  return key === "End" ? row.lastElementChild : null;
}

// The chunk in another row that lies below or above the middle of this one.
function nearestChunk(row, from) {
  const middle = (node) => node.getBoundingClientRect().left + node.getBoundingClientRect().width / 2;
  const wanted = middle(from);
  const away = (node) =>
    Math.max(0, node.getBoundingClientRect().left - wanted, wanted - node.getBoundingClientRect().right);
  return row ? [...row.children].reduce((best, node) => (!best || away(node) < away(best) ? node : best), null) : null;
}

// Tab reaches one chunk: the chosen one, otherwise the first.
export function reachChunks(regions, chosen) {
  const all = [...regions.querySelectorAll(CHUNK)];
  const stop = all.find((node) => node.nbtf.key === chosen) || all[0];
  for (const node of regions.querySelectorAll(`${CHUNK}[tabindex="0"]`))
    if (node !== stop) attr(node, "tabindex", "-1");
  if (stop) attr(stop, "tabindex", "0");
}

// The focused chunk: {node, region, offset}.
export function focusedChunk(regions) {
  const node = regions.getRootNode().activeElement;
  return node && node.matches?.(CHUNK) && regions.contains(node)
    ? { node, region: node.nbtf.region, offset: node.nbtf.offset }
    : null;
}

// If the focused chunk is gone, focuses what now covers its place, because freed memory merges with its neighbours.
export function refocusChunk(regions, { node, region, offset }) {
  if (node.isConnected) return;
  const all = [...regions.querySelectorAll(CHUNK)];
  const covers = (one) =>
    one.nbtf.region === region && one.nbtf.offset <= offset && offset < one.nbtf.offset + one.nbtf.size;
  (all.find(covers) || all[0])?.focus();
}
