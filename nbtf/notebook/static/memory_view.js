// The memory view: how full each device is, how that came about, and the layout of its memory.

import { h, keyed } from "./dom.js";
import { hostOfDevice, shortInCluster } from "./map_flows.js";
import { makeMemoryCard, updateMemoryCard } from "./memory_card.js";
import { makeMemoryDevice, updateMemoryDevice } from "./memory_device.js";
import { highest } from "./memory_history.js";
import { mapLegend } from "./memory_map.js";
import { cardGroups, deviceOfStep, inUnits, memoryMoment } from "./memory_moment.js";
import { memoryTables } from "./memory_tables.js";
import { WORDS, fill } from "./words.js";

const SAID = 4;

export const memoryView = {
  kind: "memory",
  get title() {
    return WORDS.memory.title;
  },

  create(root, ui) {
    Object.assign(this, { ui, width: root.clientWidth, shown: [null, null] });
    this.none = h("p", { class: "nbtf-mem-why", hidden: "" }, WORDS.memory.noGpus);
    this.cards = h("div", { class: "nbtf-mem-cards" });
    this.sizes = new ResizeObserver(() => {
      this.width = this.cards.clientWidth;
      ui.changed();
    });
    this.sizes.observe(this.cards);
    this.legend = mapLegend();
    root.append(this.cards, this.none, this.legend);
  },

  dispose() {
    this.sizes.disconnect();
  },

  redraw() {
    const [state, position] = this.shown;
    if (state) this.update(state, position);
  },

  update(state, position) {
    this.shown = [state, position];
    this.legend.hidden = !state.devices.some((device) => device.map && device.memory?.peak);
    this.none.hidden = state.devices.some((device) => device.kind !== "host");
    const here = deviceOfStep(state, position);
    const moments = new Map(state.devices.map((device) => [device, memoryMoment(state, device, position)]));
    const scale = highest([...moments.values()]);
    keyed(
      this.cards,
      cardGroups(withAccounts(state.devices)),
      (group) => group.key,
      makeMemoryCard,
      (card, group) => {
        updateMemoryCard(
          card,
          group.devices,
          group.devices.map((device) => ({ ...moments.get(device), name: shortInCluster(device.name) })),
          position !== null,
        );
        keyed(
          card.nbtf.devices,
          group.devices,
          (device) => device.name,
          (device) => makeMemoryDevice(device, this),
          (node, device) =>
            updateMemoryDevice(node, device, {
              moment: moments.get(device),
              scale,
              now: here === device.name,
              replayed: position !== null,
              alone: group.devices.length === 1,
              state,
            }),
        );
      },
    );
  },

  tables(state) {
    return memoryTables(state, this.cards.closest(".nbtf-view").dataset.mode === "replay");
  },

  say(state, position, kind, badge) {
    const said = WORDS.memory;
    const busy = state.devices.filter((device) => memoryMoment(state, device, position)?.in_use);
    const parts = busy.slice(0, SAID).map((device) => {
      const moment = memoryMoment(state, device, position);
      return fill(said.sayDevice, { name: shortInCluster(device.name), used: inUnits(moment.in_use), limit: inUnits(moment.limit) });
    });
    if (busy.length > SAID) parts.push(fill(said.sayMore, { n: busy.length - SAID }));
    return fill(said.say, { badge, parts: parts.join(WORDS.frame.semicolon) || said.sayNone });
  },
};

// The devices without the hosts of other tasks that have GPUs: host memory is not tracked, and the GPUs already show the state
// of their task.
function withAccounts(devices) {
  const hosts = new Set(devices.filter((device) => device.kind !== "host").map((device) => hostOfDevice(device.name)));
  return devices.filter((device) => device.kind !== "host" || !hostOfDevice(device.name) || !hosts.has(hostOfDevice(device.name)));
}
