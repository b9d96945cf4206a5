// The facts that map_picture.js draws, from a state or from a step of the replay.

import { FACTS } from "./measures.js";
import { WORDS, parsed } from "./words.js";

// `scene` is what scene.js returns for `state`.
export function mapFacts(scene, state) {
  const devices = scene.rooms.map((room) => deviceFacts(room, scene, state));
  const isHost = (_, number) => scene.rooms[number].device.kind === "host";
  const flows = scene.copies.map((copy) => flowFacts(copy, scene.small));
  return {
    hosts: devices.filter(isHost),
    cards: devices.filter((_, number) => !isHost(_, number)),
    flows: flows.filter((flow) => flow.copies),
    ops: devices.reduce((sum, device) => sum + device.executed, 0),
    constants: scene.rooms.reduce((sum, room) => sum + room.constants, 0),
    smallCopies: scene.small.reduce((sum, [, , copies]) => sum + copies, 0),
    simulated: scene.rooms.some((room) => room.device.kind === "simulated"),
    path: scene.step ? [] : (state.path ?? []),
    now: scene.step?.kind === 1 ? { source: scene.step.device, target: scene.step.target } : null,
  };
}

// Whether a copy is folded.
export function isSmallCopy(nbytes) {
  return nbytes < FACTS.smallestCopy;
}

function flowFacts([source, target, copies, nbytes], small) {
  const [, , fewer, less] = small.find(([from, to]) => from === source && to === target) ?? [0, 0, 0, 0];
  return { source, target, copies: copies - fewer, nbytes: nbytes - less };
}

function deviceFacts(room, scene, state) {
  const { device, memory } = room;
  const ops = room.counts.map(([op, times, why], row) => ({ op, times, why, asked: !isElsewhere(scene, device, row, why) }));
  const first = scene.step ? -1 : ops.findIndex(({ op }) => op === device.op);
  if (first > 0) ops.unshift(...ops.splice(first, 1));
  const { step } = scene;
  const isHere = step ? step.kind !== 1 && step.device === room.name : state.busy && scene.running === room.name;
  return {
    name: room.name,
    ops,
    executed: room.ops - room.constants,
    inUse: memory && !memory.unknown ? memory.in_use : null,
    limit: memory?.limit ?? null,
    levels: highestOf((device.history ?? []).filter(([ms]) => !step || ms <= step.ms).map(([, inUse]) => inUse)),
    now: isHere,
    lost: Boolean(device.lost),
    nothing: step ? nothingWords(scene, device) : undefined,
    shown: step && isHere ? ops.find(({ op, why }) => op === step.op && why === step.why) : undefined,
  };
}

// If a device ran ops, even before the first kept step, the map cannot say that nothing ran there yet.
function nothingWords(scene, device) {
  return scene.cut && device.ops ? "–" : WORDS.map.noOpsYet;
}

function isElsewhere(scene, device, row, why) {
  if (!scene.step && device.elsewhere) return device.elsewhere.includes(row);
  return parsed("reasons", why)?.key === "soft placement";
}

function highestOf(levels) {
  const length = Math.ceil(levels.length / FACTS.points);
  const stretches = [];
  for (let begin = 0; begin < levels.length; begin += length) stretches.push(Math.max(...levels.slice(begin, begin + length)));
  return stretches.length ? [...stretches.slice(0, -1), levels.at(-1)] : [];
}
