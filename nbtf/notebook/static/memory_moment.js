// How full is each device at a moment: now, or at one step of the replay?

import { readStep } from "./replay.js";

const SERIES = new WeakMap();

// Null where nothing is known, else {in_use, requested, peak, pool, limit, points, cursor, span}. `points` are [in use,
// pool] (null: not known) from the oldest on; `cursor` is the point shown, null when live; `span` their time in seconds.
export function memoryMoment(state, device, position) {
  if (device.kind === "host") return null;
  const past = device.history || [];
  if (position === null) {
    const span = past.length > 1 ? (past[past.length - 1][0] - past[0][0]) / 1000 : 0;
    return device.memory && { ...device.memory, points: past.map(([, used, pool]) => [used, pool]), cursor: null, span };
  }
  const points = memorySeries(state, device);
  if (!points[position]) return null;
  const [used, pool] = points[position];
  const peak = Math.max(...points.slice(0, position + 1).map((point) => (point ? point[0] : 0)));
  return { in_use: used, requested: null, peak, pool, limit: device.memory?.limit ?? null, points, cursor: position, span: null };
}

// The device that a step worked on.
export function deviceOfStep(state, position) {
  if (position === null) return null;
  const step = readStep(state, position);
  return step.kind === 1 ? step.target : step.device;
}

// [in use, pool] after every step: what a step on this device left, else what was seen since (memory given back tells no
// step), else null.
function memorySeries(state, device) {
  if (!SERIES.has(state)) SERIES.set(state, new Map());
  const kept = SERIES.get(state);
  if (!kept.has(device.name)) kept.set(device.name, computeSeries(state, device));
  return kept.get(device.name);
}

function computeSeries(state, device) {
  const past = device.history || [];
  let value = null;
  let told = -1;
  let k = 0;
  return state.steps.map((_, i) => {
    const step = readStep(state, i);
    for (; k < past.length && past[k][0] <= step.ms; k += 1) if (past[k][0] > told) value = [past[k][1], past[k][2]];
    if (deviceOfStep(state, i) === device.name && step.in_use >= 0) {
      value = [step.in_use, step.pool];
      told = step.ms;
    }
    return value;
  });
}

// Devices in groups: several logical GPUs of one card stand together. [{key, devices}]
export function cardGroups(devices) {
  const groups = new Map();
  for (const device of devices) {
    const shared = device.kind !== "host" && device.card !== null && device.card !== undefined;
    const key = shared ? `${device.kind} ${device.card}` : device.name;
    groups.set(key, [...(groups.get(key) || []), device]);
  }
  return [...groups].map(([key, list]) => ({ key, devices: list }));
}
