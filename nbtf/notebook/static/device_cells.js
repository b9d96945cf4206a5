// The devices of a cluster as small cells: a line of cells for each host; with many hosts, a cell for each host, whose
// cards have rows below. A cell is filled by its bytes in and out, relative to the most.

import { attr, h, keyed, rounded, rove } from "./dom.js";
import { byHost, hostOfDevice, shortInCluster } from "./map_flows.js";
import { GRID } from "./map_grid.js";
import { HOSTS } from "./map_hosts.js";
import { WORDS, fill } from "./words.js";

export function makeDeviceCells(choose, open) {
  const list = h("div", { class: "nbtf-tiles", role: "listbox", "aria-label": WORDS.rows.label });
  const legend = h("p", { class: "nbtf-legend" }, WORDS.deviceMap.height);
  const root = h("div", { class: "nbtf-device-tiles" }, list, legend);
  const self = { list, choose, open, reach: rove(list, ".nbtf-tile") };
  return Object.assign(root, { update: (hosts, show) => updateCells(self, hosts, show) });
}

// The devices by host, a Map of "worker/1" to rooms; null if all devices belong to one computer.
export function hostsOf(rooms) {
  const hosts = byHost(rooms);
  return hosts.size > 1 ? hosts : null;
}

// The devices with rows besides the cells: with many hosts, those of the chosen one.
export function rowsBeside(hosts, chosen) {
  return hosts.size > HOSTS.mostRows ? hosts.get(hostOfDevice(chosen.name)) : [];
}

function updateCells(self, hosts, { chosen, running, traffic }) {
  const cells = hosts.size > HOSTS.mostRows ? [...hosts].map(cellOfHost) : [...hosts].flatMap(([host, members]) => members.map((room, at) => cellOfDevice(host, room, at)));
  const amounts = new Map(cells.map((cell) => [cell, cell.names.reduce((sum, name) => sum + (traffic.get(name) ?? 0), 0)]));
  const most = Math.max(1, ...amounts.values());
  keyed(self.list, cells, (cell) => cell.key, (cell) => makeCell(self, cell), (node, cell) => {
    const amount = amounts.get(cell);
    attr(node, "aria-label", `${cell.title}: ${rounded(amount)}`);
    attr(node, "aria-selected", String(cell.names.includes(chosen)));
    attr(node, "data-running", cell.names.includes(running) ? "" : null);
    node.lastChild.style.height = amount ? `max(1.5px, ${(100 * amount) / most}%)` : "0";
  });
  self.reach();
}

function cellOfHost([host, members], at) {
  const line = at % GRID.perRow ? "" : host;
  const title = `${host}, ${fill(WORDS.deviceMap.gpus, { n: members.length })}`;
  return { key: host, line, column: at % GRID.perRow, words: host.slice(host.lastIndexOf("/") + 1), title, names: members.map(({ name }) => name) };
}

function cellOfDevice(host, { name }, at) {
  const words = name.slice(name.lastIndexOf(":") + 1);
  return { key: name, line: at ? "" : host, column: at % GRID.perRow, words, title: shortInCluster(name), names: [name] };
}

function makeCell({ choose, open }, { names, line, column, words, title }) {
  const [first] = names;
  const keys = ({ key }) => key === "Enter" && open(first);
  const cell = h("div", { class: "nbtf-tile", role: "option", tabindex: "-1", title, "data-line": line || null, onclick: () => choose(first), onfocus: () => choose(first), onkeydown: keys },
    h("span", { class: "nbtf-tile-name" }, words), h("span", { class: "nbtf-tile-fill" }));
  if (names.length === 1) attr(cell, "data-device", first);
  cell.style.gridColumn = column + 2;
  return cell;
}
