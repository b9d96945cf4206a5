// The memory view as tables: the same figures and the same chunks, in exact bytes.

import { exact } from "./dom.js";
import { readChunks } from "./memory_chunks.js";
import { realRow } from "./memory_real.js";
import { WORDS, fill, translated } from "./words.js";

const CHANGES = 20;
const NOTHING_MORE = [null, null, null, null, null];

export function memoryTables(state, replayed) {
  const said = WORDS.memory;
  const accounts = {
    caption: said.tableDevices,
    columns: heads(said.columnsDevices, 2),
    rows: accountRows(state),
    notes: accountNotes(state, replayed),
  };
  const real = { caption: said.tableReal, columns: heads(said.columnsReal, 1), rows: realRows(state), notes: [] };
  const changes = {
    caption: said.tableChanges,
    columns: heads(said.columnsChanges, 1),
    rows: changeRows(state),
    notes: changeNotes(state),
  };
  const maps = state.devices.filter((device) => device.map).map((device) => chunkTable(device, device.map.words));
  return [accounts, ...[real, changes].filter((one) => one.rows.length), ...maps];
}

function heads(labels, from) {
  return labels.map((label, i) => ({ label, number: i >= from }));
}

function accountRows(state) {
  const keys = ["in_use", "requested", "peak", "pool", "limit"];
  return state.devices.map((device) => [
    device.name,
    WORDS.memory.kinds[device.kind],
    ...keys.map((key) => exact(device.memory?.[key])),
    exact(device.free),
    exact(device.largest_free),
  ]);
}

function accountNotes(state, replayed) {
  const said = WORDS.memory;
  const waiting = state.devices.some((device) => device.kind !== "host" && !device.memory);
  return [said.host, ...(waiting ? [said.notStarted] : []), ...(replayed ? [said.tablesAreEnd] : [])];
}

function realRows(state) {
  return state.devices.filter((device) => device.kind === "real").map(realRow);
}

function changeRows(state) {
  const said = WORDS.memory;
  return state.devices.flatMap((device) =>
    (device.history || [])
      .slice(-CHANGES)
      .map(([ms, used, pool]) => [device.name, fill(said.milliseconds, { n: ms }), exact(used), exact(pool)]),
  );
}

function changeNotes(state) {
  const cut = state.devices.filter((device) => device.history?.length > CHANGES);
  return cut.map((device) =>
    fill(WORDS.memory.changesCut, { name: device.name, n: device.history.length, last: CHANGES }),
  );
}

function chunkTable(device, words) {
  const said = WORDS.memory;
  const { chunks, shown, regions } = device.map;
  const rows = regions.flatMap((region, number) => readChunks(region, words).map((chunk) => chunkRow(chunk, number)));
  const values = { name: device.name, n: chunks, shown };
  return {
    caption: fill(said.tableChunks, values),
    columns: said.columnsChunks.map((label, i) => ({ label, number: i > 1 && i < 5 })),
    rows,
    notes: [fill(shown < chunks ? said.chunksCut : said.chunksAll, values)],
  };
}

function chunkRow(chunk, number) {
  const said = WORDS.memory;
  const region = fill(said.region, { number });
  if (chunk.kind === "several")
    return [region, fill(said.several, { n: chunk.count }), exact(chunk.offset), exact(chunk.size), ...NOTHING_MORE];
  if (chunk.kind === "free") return [region, said.free, exact(chunk.offset), exact(chunk.size), ...NOTHING_MORE];
  const holder = chunk.holder === null ? said.nobody : chunk.holder || said.notLooked;
  return [
    region,
    said.used,
    exact(chunk.offset),
    exact(chunk.size),
    exact(chunk.requested),
    chunk.out,
    holder,
    chunk.op,
    translated("places", chunk.code),
  ];
}
