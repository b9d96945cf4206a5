// The memory history of the chosen device as a small curve, on the common scale of all devices.

import { h, put } from "./dom.js";
import { shortInCluster } from "./map_flows.js";
import { highest, makeHistory, updateHistory } from "./memory_history.js";
import { memoryMoment } from "./memory_moment.js";
import { WORDS, fill } from "./words.js";

// The title is a button that opens the device in the recording, as Enter on its row does.
export function makeRowMemory(ui) {
  const self = { name: "", history: makeHistory() };
  self.title = h("button", { type: "button", class: "nbtf-row-memory-title", title: WORDS.recording.openHint, onclick: () => ui.open(self.name) });
  const head = h("p", { class: "nbtf-row-memory-head" }, self.title, h("span", null, WORDS.rows.memoryAxes));
  self.root = h("div", { class: "nbtf-row-memory" }, head, self.history);
  return Object.assign(self.root, { update: (state, devices, name, position) => updateRowMemory(self, state, devices, name, position) });
}

function updateRowMemory(self, state, devices, name, position) {
  const moments = new Map(devices.map((device) => [device.name, memoryMoment(state, device, position)]));
  const moment = moments.get(name);
  self.root.hidden = !moment?.points.some(Boolean);
  if (self.root.hidden) return;
  self.name = name;
  put(self.title, fill(WORDS.rows.memory, { name: shortInCluster(name) }));
  updateHistory(self.history, name, moment, highest([...moments.values()]), true);
}
