// The parts of a snapshot's page that are texts and tables: what the file is, what holds memory at the peak, and what other settings
// would have changed. Python writes them, because they need every event of the file.

import { h } from "./dom.js";
import { memoryState } from "./memory_state.js";
import { table } from "./table.js";
import { WORDS } from "./words.js";

export const holdersView = tablesView("holders", () => WORDS.snapshot.holders);
export const whatIfView = tablesView("whatIf", () => WORDS.snapshot.whatIf);

// {title, about, facts: [[name, figure]], notes: [sentence]}: the head of the page of any file.
export function fileHead({ title, about, facts, notes }) {
  const figures = facts.map(([name, figure]) => h("div", null, h("dt", null, name), h("dd", null, figure)));
  return h(
    "header",
    { class: "nbtf-file" },
    h("h1", null, title),
    h("p", { class: "nbtf-file-about" }, about),
    h("dl", null, figures),
    h("ul", null, notes.map((note) => h("li", null, note))),
  );
}

// A view of tables for each device, {name, tables}; those of the device that the memory views show.
function tablesView(name, title) {
  return { name, title, create: (root, devices, ui) => new TablesOfDevice(root, devices, ui) };
}

class TablesOfDevice {
  constructor(root, devices, ui) {
    Object.assign(this, { root, devices, state: memoryState(ui.shared) });
    this.content = h("div", { class: "nbtf-tables" });
    root.append(this.content);
  }

  draw() {
    const { name } = this.state.history;
    if (this.shown === name) return;
    this.shown = name;
    const tables = this.devices.find((device) => device.name === name)?.tables ?? [];
    this.content.replaceChildren(...tables.map(table));
  }
}
