// What the memory views say about a step and about a chunk, as a sentence and as a table.

import { aboutPiece, freeInWords } from "./plane_chunks.js";
import { numberOf } from "./plane_picture.js";
import { partInWords, sizeInWords } from "./sizes.js";
import { WORDS, fill } from "./words.js";

// The memory in use and free after a step, and the request that failed in it.
export function stepInWords(history, step) {
  const used = history.measured ? sizeInWords(history.inUse[step]) : partInWords(history.inUse[step], history.limit);
  const said = fill(WORDS.plane.state, { ...numberOf(history, step), used, free: freeInWords(history, step) });
  const refusal = history.refusals.find((each) => each.step === step);
  return refusal ? `${said} ${WORDS.memoryPicture.outOfMemory}: ${refusal.sentence}` : said;
}

// A chunk by name and size; with `isComplete`, with all that is known about it.
export function chunkInWords(history, { piece, size, region, offset }, isComplete) {
  const said = WORDS.plane;
  const place = history.measured ? fill(WORDS.snapshot.address, { address: `0x${(history.addresses[region] + offset).toString(16)}` }) : fill(said.place, { region, offset });
  if (!piece) return [fill(said.free, { size: sizeInWords(size) }), ...(isComplete ? [place] : [])].join(" · ");
  const name = fill(said.used, { name: aboutPiece(piece), size: sizeInWords(size), asked: sizeInWords(piece.requested) });
  const line = !history.measured && piece.line && fill(said.made, { line: piece.line });
  const stream = history.measured && fill(WORDS.snapshot.onStream, { stream: piece.stream });
  return [name, ...(isComplete ? [line, piece.fate, place, stream] : [])].filter(Boolean).join(" · ");
}

// The chunks of a step as a table.
export function tableOfChunks(history, step, chunks) {
  const said = WORDS.plane;
  const number = (label) => ({ label, number: true });
  const columns = [said.piece, number(said.charged), number(said.asked), said.line, said.fate];
  const rows = chunks.map(({ piece, size }) => (
    piece ? [aboutPiece(piece), sizeInWords(size), sizeInWords(piece.requested), piece.line, piece.fate] : [WORDS.memoryPicture.free, sizeInWords(size)]
  ));
  return { caption: stepInWords(history, step), columns, rows: rows.map((row) => columns.map((_, at) => row[at])), notes: [] };
}
