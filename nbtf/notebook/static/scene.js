// The content of the device map at one moment: now, or at a step of the replay.
//
// In the replay, a room shows what ran since its cell began, newest first, so that each cell stands on its own.

import { isSmallCopy } from "./map_facts.js";
import { cellOf, isCut, levelAt, readStep } from "./replay.js";
import { parsed } from "./words.js";

// {step, cell, rooms: [{device, name, ops, counts: [[op, n, why]], more, constants, memory}], copies: [[from, to, n, bytes]],
// small: the folded copies, running: the device of the last step, cut: whether the cell began before the first kept step,
// ghosts: requested devices that do not exist}.
export function sceneAt(state, position) {
  const scene = position === null ? liveScene(state) : replayScene(state, position);
  scene.ghosts = ghostsOf(scene.rooms);
  return scene;
}

function liveScene(state) {
  const rooms = state.devices.map((device) => ({
    device, name: device.name, ops: device.ops, counts: device.counts, more: device.more || 0, constants: device.constants || 0, memory: device.memory,
  }));
  const running = state.steps.length ? readStep(state, state.steps.length - 1).device : null;
  return { step: null, rooms, copies: state.copies, small: state.small ?? [], running };
}

function replayScene(state, position) {
  const cell = cellOf(state, position);
  const before = cell.first < 0 ? state.window.before : { counts: [], copies: [], small: [] };
  const ran = new Map();
  const copied = waysOf(before.copies);
  const small = waysOf(before.small);
  for (const [device, op, n, why] of before.counts) addOp(ran, { device, op, why }, n);
  for (let i = Math.max(0, cell.first); i <= position; i += 1) {
    const step = readStep(state, i);
    if (step.kind !== 1) addOp(ran, step);
    else addCopy(copied, step);
    if (step.kind === 1 && isSmallCopy(step.nbytes)) addCopy(small, step);
  }
  const rooms = state.devices.map((device) => {
    const counts = [...(ran.get(device.name) || new Map()).values()].reverse();
    const ops = counts.reduce((sum, [, n]) => sum + n, 0);
    return { device, name: device.name, ops, counts, more: 0, constants: 0, memory: memoryAt(state, device, position) };
  });
  return { step: readStep(state, position), rooms, copies: [...copied.values()], small: [...small.values()], cut: isCut(state, cell) };
}

function waysOf(copies) {
  return new Map(copies.map((copy) => [`${copy[0]}\n${copy[1]}`, copy]));
}

function addOp(ran, step, n = 1) {
  const here = ran.get(step.device) || new Map();
  ran.set(step.device, here);
  const key = `${step.op}\n${step.why}`;
  const count = here.get(key) || [step.op, 0, step.why];
  here.delete(key);
  here.set(key, [count[0], count[1] + n, count[2]]);
}

function addCopy(copied, step) {
  const key = `${step.device}\n${step.target}`;
  const [, , n, sum] = copied.get(key) || [0, 0, 0, 0];
  copied.set(key, [step.device, step.target, n + 1, sum + step.nbytes]);
}

// Memory of a device at a step: as reported by the last step that changed it, otherwise its history at that time, otherwise unknown.
function memoryAt(state, device, position) {
  if (device.kind === "host" || device.lost) return null;
  const limit = device.memory?.limit ?? null;
  if (state.window) {
    const level = levelAt(state, device.name, position);
    return level ? { in_use: level[0], pool: level[1], limit } : device.memory && { unknown: true, limit };
  }
  for (let i = position; i >= 0; i -= 1) {
    const step = readStep(state, i);
    const here = step.kind === 1 ? step.target : step.device;
    if (here === device.name && step.in_use >= 0) return { in_use: step.in_use, pool: step.pool, limit };
  }
  const history = device.history || [];
  if (!history.length && !touched(state, device.name)) return device.memory;
  const { ms } = readStep(state, position);
  const before = history.findLast(([at]) => at <= ms);
  return before ? { in_use: before[1], pool: before[2], limit } : { unknown: true, limit };
}

function touched(state, name) {
  return state.steps.some((_, i) => {
    const step = readStep(state, i);
    return (step.kind === 1 ? step.target : step.device) === name;
  });
}

// Devices that were requested but do not exist, taken from the reasons.
function ghostsOf(rooms) {
  const there = new Set(rooms.map((room) => room.name));
  const ghosts = new Map();
  for (const room of rooms) {
    for (const [op, n, why] of room.counts) {
      const reason = parsed("reasons", why);
      const asked = reason?.key === "soft placement" ? reason.values.detail : null;
      if (!asked || there.has(asked)) continue;
      ghosts.set(asked, [...(ghosts.get(asked) || []), { op, n, device: room.name }]);
    }
  }
  return [...ghosts].map(([name, runs]) => ({ name, runs }));
}
