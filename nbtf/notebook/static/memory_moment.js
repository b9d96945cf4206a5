// The memory of each device at one moment: now, or at a step of the replay.

import { bytes, exact } from "./dom.js";
import { hostOfDevice } from "./map_flows.js";
import { levelAt, readStep } from "./replay.js";

const SERIES = new WeakMap();

// Null if nothing is known, otherwise {in_use, requested, peak, pool, limit, points, cursor, span}. `points` are [in use, pool]
// (null: unknown), oldest first; `cursor` is the displayed point, null when live; `span` is in seconds.
export function memoryMoment(state, device, position) {
  if (device.kind === "host") return null;
  if (position === null) {
    const past = changesOf(device.history || []);
    const span = past.length > 1 ? (past[past.length - 1][0] - past[0][0]) / 1000 : 0;
    return (
      device.memory && { ...device.memory, points: past.map(([, used, pool]) => [used, pool]), cursor: null, span }
    );
  }
  const points = memorySeries(state, device);
  if (!points[position]) return null;
  const [used, pool] = points[position];
  const peak = Math.max(...points.slice(0, position + 1).map((point) => (point ? point[0] : 0)));
  return {
    in_use: used,
    requested: null,
    peak,
    pool,
    limit: device.memory?.limit ?? null,
    points,
    cursor: position,
    span: null,
  };
}

// The points of a history that differ from the one before: while nothing changes, Python moves the last point along.
function changesOf(history) {
  return history.filter(([, used, pool], at) => !at || used !== history[at - 1][1] || pool !== history[at - 1][2]);
}

// The device on which a step worked.
export function deviceOfStep(state, position) {
  return position === null ? null : deviceOf(readStep(state, position));
}

function deviceOf(step) {
  return step.kind === 1 ? step.target : step.device;
}

// [in use, pool] after every step: as reported by a step on this device, otherwise by later observations (steps do not report
// freed memory), otherwise null.
function memorySeries(state, device) {
  if (!SERIES.has(state)) SERIES.set(state, new Map());
  const kept = SERIES.get(state);
  if (!kept.has(device.name)) kept.set(device.name, computeSeries(state, device));
  return kept.get(device.name);
}

function computeSeries(state, device) {
  if (state.window) return state.steps.map((_, i) => levelAt(state, device.name, i));
  const past = device.history || [];
  const steps = state.steps.map((_, i) => readStep(state, i));
  const worked = steps.some((step) => deviceOf(step) === device.name);
  let value = null;
  let told = -1;
  let k = 0;
  return steps.map((step) => {
    // Within the millisecond of a step, the history may be ahead of it.
    const until = worked ? step.ms : step.ms + 1;
    for (; k < past.length && past[k][0] < until; k += 1) if (past[k][0] > told) value = [past[k][1], past[k][2]];
    if (deviceOf(step) === device.name && step.in_use >= 0) {
      value = [step.in_use, step.pool];
      told = step.ms;
    }
    return value;
  });
}

// "24 B", "512 KiB", "1.5 MiB": pictures use units, with the exact bytes beside them.
export function inUnits(n) {
  return n >= 1024 && n < 1 << 20 ? `${(n / 1024).toFixed(n < 102400 ? 1 : 0).replace(/\.0$/, "")} KiB` : bytes(n);
}

// "1.5 MiB (1,572,864 B)", "24 B".
export function inBoth(n) {
  return n >= 1024 ? `${inUnits(n)} (${exact(n)})` : exact(n);
}

// Groups devices so that several logical GPUs of one card are together. [{key, devices}]
export function cardGroups(devices) {
  const groups = new Map();
  for (const device of devices) {
    const shared = device.kind !== "host" && device.card !== null && device.card !== undefined;
    const key = shared ? `${hostOfDevice(device.name)} ${device.kind} ${device.card}` : device.name;
    groups.set(key, [...(groups.get(key) || []), device]);
  }
  return [...groups].map(([key, list]) => ({ key, devices: list }));
}
