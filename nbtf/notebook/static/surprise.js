// One line about an op that ran elsewhere than requested: the op, the requested device, and the actual one.

import { attr, h, put } from "./dom.js";
import { parsed, translated } from "./words.js";

export function makeSurprise() {
  const line = h("p", { class: "nbtf-surprise", hidden: "" });
  const update = (state, scene) => {
    const surprise = lastSurprise(state, scene.step) ?? (scene.step ? null : countedSurprise(scene.rooms));
    attr(line, "hidden", surprise ? null : "");
    put(line, surprise ? `${surprise.op}: ${translated("reasons", surprise.why)} → ${surprise.device}` : "");
  };
  return Object.assign(line, { update });
}

// In a replay, the last such op up to the current step.
function lastSurprise(state, step) {
  const [op, device, why, seq] = ["op", "device", "why", "seq"].map((name) => state.columns.indexOf(name));
  const row = state.steps.findLast((each) => !(step && each[seq] > step.seq) && isSurprise(state.words[each[why]]));
  return row && { op: state.words[row[op]], device: state.words[row[device]], why: state.words[row[why]] };
}

// For ops that are no longer among the last steps, only their number is known, not their order.
function countedSurprise(rooms) {
  const rows = rooms.flatMap((room) => room.counts.map(([op, , why]) => ({ op, device: room.name, why })));
  return rows.find(({ why }) => isSurprise(why));
}

function isSurprise(why) {
  return Boolean(why) && parsed("reasons", why)?.key === "soft placement";
}
