// The chunks that a memory map draws in one region; small neighbours are combined if the screen has no space for each.

import { exact } from "./dom.js";
import { inBoth, inUnits } from "./memory_moment.js";
import { WORDS, fill, listed, translated } from "./words.js";

export const NARROWEST = 9; // pixels of a chunk with its border
const FINGER = 24; // pixels of a combined chunk
const LETTER = 6.6; // pixels, at a font size of 11 px

// The chunks of a region as objects, from rows [offset, size, in_use, requested, op, out, code, holder].
export function readChunks(region, words) {
  return region.chunks.map(([offset, size, use, requested, op, out, code, holder]) => ({
    offset,
    size,
    requested,
    count: use === 2 ? -requested : 1,
    kind: ["free", "used", "several"][use],
    op: words[op] ?? "",
    out: words[out] ?? "",
    code: words[code] ?? "",
    holder: holder < 0 ? null : (words[holder] ?? ""),
  }));
}

// As many chunks as fit side by side in `width` pixels, to scale except for the smallest: {…chunk, share, inside: chunks}.
export function drawnChunks(chunks, width) {
  const total = chunks.reduce((sum, chunk) => sum + chunk.size, 0);
  const room = Math.max(1, Math.floor(width / NARROWEST));
  let drawn = chunks.map((chunk) => ({ ...chunk, inside: null }));
  let least = (FINGER * total) / width;
  if (chunks.some((chunk) => chunk.kind === "several")) drawn = joined(chunks, least);
  for (; drawn.length > room && least < 2 * total; least *= 1.5) drawn = joined(chunks, least);
  for (const one of drawn) {
    one.share = one.size / total;
    one.wider = one.share * width < (one.inside ? FINGER : NARROWEST);
  }
  return drawn;
}

// Combines neighbours below `least` bytes until they reach it.
function joined(chunks, least) {
  const runs = [];
  for (const chunk of chunks) {
    const run = runs[runs.length - 1];
    if (run && chunk.size < least && run.size < least) {
      run.size += chunk.size;
      run.inside.push(chunk);
    } else runs.push({ size: chunk.size, inside: [chunk] });
  }
  return runs.map((run) => (run.inside.length === 1 ? { ...run.inside[0], inside: null } : several(run)));
}

function several({ size, inside }) {
  const kinds = new Set(inside.map((chunk) => chunk.kind));
  const used = inside.filter((chunk) => chunk.kind === "used");
  return {
    offset: inside[0].offset,
    size,
    inside,
    kind: "several",
    requested: 0,
    op: "",
    out: "",
    code: "",
    holder: null,
    count: inside.reduce((sum, chunk) => sum + chunk.count, 0),
    used: kinds.has("several") ? null : used.length,
    usedBytes: used.reduce((sum, chunk) => sum + chunk.size, 0),
  };
}

// The label that fits into the drawn chunk: what holds it, otherwise its shape, otherwise its size, otherwise nothing.
export function textInside(chunk, width) {
  const fits = (text) => text && text.length * LETTER + (chunk.kind === "used" ? 10 : 20) <= width;
  if (chunk.kind === "several") return fits(`${chunk.count} ×`) ? `${chunk.count} ×` : "";
  const texts = chunk.kind === "free" ? [inUnits(chunk.size)] : [chunk.holder, chunk.out, inUnits(chunk.size)];
  return texts.find(fits) || "";
}

// One line that describes a chunk: its accessible name.
export function chunkLabel(chunk) {
  const said = WORDS.memory;
  if (chunk.kind === "free") return fill(said.freeLabel, { size: inUnits(chunk.size), at: inUnits(chunk.offset) });
  if (chunk.kind === "several")
    return fill(said.severalLabel, { n: chunk.count, size: inUnits(chunk.size), at: inUnits(chunk.offset) });
  const tensor = listed([chunk.holder, chunk.out, chunk.op].filter(Boolean));
  return fill(said.usedLabel, { tensor, size: inUnits(chunk.size), at: inUnits(chunk.offset) });
}

// Headline and facts of a chunk: {title, facts: [[key, label, text]]}.
export function chunkFacts(chunk, region) {
  const said = WORDS.memory;
  const size = inUnits(chunk.size);
  const place = ["place", said.facts.place, fill(said.place, { offset: inBoth(chunk.offset), region })];
  const charged = ["size", said.facts.size, inBoth(chunk.size)];
  if (chunk.kind === "free")
    return { title: said.free, facts: [charged, ["use", said.facts.use, fill(said.fits, { size })], place] };
  if (chunk.kind === "several")
    return { title: fill(said.several, { n: chunk.count }), facts: [charged, ...mixture(chunk), place] };
  const waste = chunk.size - chunk.requested;
  const n = exact(chunk.requested);
  const asked = waste ? fill(said.askedRounded, { n, waste: exact(waste) }) : n;
  return {
    title: chunk.out || said.unnamed,
    facts: [
      ["holder", said.facts.holder, chunk.holder === null ? said.nobody : chunk.holder || said.notLooked],
      ["op", said.facts.op, chunk.op || said.notRecorded],
      charged,
      ["code", said.facts.code, chunk.code ? translated("places", chunk.code) : said.notRecorded],
      ["asked", said.facts.asked, asked],
      place,
    ],
  };
}

function mixture(chunk) {
  const said = WORDS.memory;
  if (chunk.used === null || chunk.used === undefined) return [["use", said.facts.use, said.mixtureUnknown]];
  const free = chunk.count - chunk.used;
  return [
    [
      "use",
      said.facts.use,
      fill(said.mixture, {
        used: chunk.used,
        usedBytes: inUnits(chunk.usedBytes),
        free,
        freeBytes: inUnits(chunk.size - chunk.usedBytes),
      }),
    ],
  ];
}

// How fragmented the free memory is, as text and as a number.
export function fragmentation(device) {
  const said = WORDS.memory;
  const { free, largest_free: largest, memory, map } = device;
  const room = memory?.limit ? Math.max(0, memory.limit - memory.pool) : 0;
  const values = {
    free: inUnits(free),
    largest: inUnits(largest),
    room: inUnits(room),
    percent: Math.floor((100 * largest) / (free || 1)),
  };
  const grow = fill(room >= 256 ? said.mayGrow : said.cannotGrow, values);
  const both = (first) => fill(WORDS.frame.sentences, { first, second: grow });
  if (!free) return both(said.noneFree);
  if (values.percent >= 99) {
    const told = fill(free === largest ? said.freeInOne : said.freeMostlyInOne, values);
    return room >= 256 || free < memory?.limit / 10 ? both(told) : told;
  }
  const chunks = map.regions.flatMap((region) => region.chunks);
  const counted = chunks.every((row) => row[2] !== 2);
  const n = chunks.filter((row) => row[2] === 0).length;
  return both(fill(counted ? said.freeInMany : said.freeInVeryMany, { ...values, n }));
}
