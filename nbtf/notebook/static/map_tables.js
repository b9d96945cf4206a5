// The device map as tables: the same rows, to read and to copy.

import { exact } from "./dom.js";
import { opName, readStep } from "./replay.js";
import { stepsInWords } from "./step_list.js";
import { kindOf } from "./room.js";
import { WORDS, fill, grouped, translated } from "./words.js";

export function mapTables(state) {
  const said = WORDS.map;
  return [
    { caption: said.tableOps, columns: columns(said.columnsOps, [3]), rows: opRows(state), notes: opNotes(state) },
    { caption: said.tableMemory, columns: columns(said.columnsMemory, [2, 3, 4, 5, 6]), rows: memoryRows(state), notes: [] },
    { caption: said.tableCopies, columns: columns(said.columnsCopies, [2, 3]), rows: copyRows(state), notes: [] },
    { caption: said.tableSteps, columns: columns(said.columnsSteps, [5]), rows: stepRows(state), notes: [stepsInWords(state)] },
  ].filter((one) => one.rows.length);
}

function columns(labels, numbers) {
  return labels.map((label, i) => ({ label, number: numbers.includes(i) }));
}

function opRows(state) {
  return state.devices.flatMap((device) => device.counts.map(([op, n, why]) => [device.name, kindOf(device), op, grouped(n), translated("reasons", why)]));
}

function opNotes(state) {
  const cut = state.devices.filter((device) => device.more);
  const notes = cut.map((device) => fill(WORDS.map.notListed, { name: device.name, n: device.more }));
  return state.devices.some((device) => device.kind === "simulated") ? [...notes, WORDS.map.simulatedNote] : notes;
}

function memoryRows(state) {
  const keys = ["in_use", "requested", "peak", "pool", "limit"];
  return state.devices.filter((device) => device.memory)
    .map((device) => [device.name, kindOf(device), ...keys.map((key) => exact(device.memory[key]))]);
}

function copyRows(state) {
  return state.copies.map(([from, to, n, sum]) => [from, to, grouped(n), exact(sum)]);
}

function stepRows(state) {
  const said = WORDS.map;
  return state.steps.map((_, i) => {
    const step = readStep(state, i);
    const op = step.kind === 2 ? fill(said.failedOp, { op: opName(step) }) : step.kind === 1 ? said.copyOp : opName(step);
    const where = step.kind === 1 ? fill(said.route, step) : step.device;
    return [String(step.seq), op, where, translated("reasons", step.why), step.out, exact(step.nbytes), translated("places", step.code)];
  });
}
