// The recent work of each device: a column, coloured by phase, for what it did between two states of a running cell. Ops
// without a phase have the colour of their family, as on the timeline.

import { attr, h, keyed, s } from "./dom.js";
import { FACTS } from "./measures.js";
import { WORDS } from "./words.js";

const [NARROWEST_BEAT, WIDEST_BEAT] = [5, 24]; // pixels: few columns are wide, so that they fill the row
const MOST_COLUMNS = 600; // columns
const OTHER_BEAT = FACTS.workColumns.indexOf("other");

// {hear(state), of(device): its columns, newest last, most(devices): the tallest column of the devices, which sets their scale}.
export function makeHeartbeats() {
  const self = { columns: new Map(), before: null };
  const of = (name) => self.columns.get(name) || [];
  const most = (names) => Math.max(1, ...names.flatMap(of).map(([ops, copies]) => added(ops) + copies));
  return { hear: (state) => hearBeat(self, state), of, most };
}

// Records what each device did since the last state. Nothing is recorded while no cell is running, and no state twice, because
// several elements may show the same model.
function hearBeat(self, state) {
  const { before } = self;
  if (before?.state === state) return;
  const work = new Map((state.devices || []).map((device) => [device.name, { ops: device.work || 0, phases: device.phases || [], copied: copiedBy(state, device.name) }]));
  self.before = { state, work };
  if (!before || state.heard < before.state.heard) return void self.columns.clear(); // a new kernel counts from 0
  if (state.heard === before.state.heard && !state.busy) return;
  for (const [name, { ops, phases, copied }] of work) {
    const last = before.work.get(name) || { ops: 0, copied: 0 };
    const columns = self.columns.get(name) || [];
    columns.push([byPhase(Math.max(0, ops - last.ops), phases), copied - last.copied >= FACTS.smallestCopy ? 1 : 0, [before.state.wall, state.wall]]);
    self.columns.set(name, columns.slice(-MOST_COLUMNS));
  }
}

// Estimates how many of `ops` belong to each phase, in the proportions of the state's last ops.
function byPhase(ops, phases) {
  const all = added(phases);
  return FACTS.workColumns.map((_, at) => (all ? (ops * (phases[at] || 0)) / all : at === OTHER_BEAT ? ops : 0));
}

function added(numbers) {
  return numbers.reduce((sum, n) => sum + n, 0);
}

function copiedBy(state, name) {
  return state.copies.reduce((sum, [from, to, , nbytes]) => (from === name || to === name ? sum + nbytes : sum), 0);
}

// The work of several devices together, as the columns of a single one.
export function summedColumns(several) {
  const longest = Math.max(0, ...several.map((columns) => columns.length));
  return Array.from({ length: longest }, (_, at) => {
    const same = several.map((columns) => columns.at(at - longest)).filter(Boolean);
    return [FACTS.workColumns.map((_, phase) => added(same.map(([ops]) => ops[phase]))), added(same.map(([, copies]) => copies)), same[0][2]];
  });
}

// Draws the columns of a device at some height in pixels.
export function makeBeats(height, attributes) {
  const paths = [...FACTS.workColumns, "copies"].map((phase) => s("path", { class: `nbtf-beat-${phase}` }));
  const root = s("svg", { class: "nbtf-beats", height, "aria-hidden": "true", ...attributes }, ...paths);
  return Object.assign(root, { nbtf: { paths, height } });
}

// Right-aligns the newest column at some width in pixels; `most` is the tallest column of all devices.
export function drawBeats(root, columns, width, most) {
  const { paths, height } = root.nbtf;
  const across = beatWidth(columns, width);
  const room = Math.floor(width / across + 0.001);
  const shown = room > 0 ? columns.slice(-room) : [];
  const left = width - across * shown.length;
  const tall = (n, all) => (n ? (n / all) * Math.max(2, (all / most) * height) : 0);
  const bar = (index, from, high) => `M${+(left + across * index).toFixed(2)} ${height - from}v${-Math.min(high, height - from)}h${+(across - 1).toFixed(2)}v${Math.min(high, height - from)}z`;
  const drawn = paths.map(() => "");
  shown.forEach(([ops, copies], index) => {
    const counts = [...ops, copies];
    const all = added(counts);
    let from = 0;
    counts.forEach((n, at) => {
      const high = tall(n, all);
      if (high) drawn[at] += bar(index, +from.toFixed(1), +high.toFixed(1));
      from += high;
    });
  });
  paths.forEach((path, at) => attr(path, "d", drawn[at] || null));
}

// The column at some distance in pixels from the left.
export function columnAt(columns, width, x) {
  return columns.at(-1 - Math.floor((width - x) / beatWidth(columns, width)));
}

function beatWidth(columns, width) {
  return Math.min(WIDEST_BEAT, Math.max(NARROWEST_BEAT, width / Math.max(1, columns.length)));
}

// A legend of the colours that occur in heartbeats; update(list of columns).
export function makeBeatsLegend() {
  const root = h("p", { class: "nbtf-beats-legend", hidden: true });
  const entry = (kind) => h("span", null, h("span", { class: "nbtf-beats-key", "data-kind": kind, "aria-hidden": "true" }), WORDS.timeline[kind === "copies" ? "copy" : kind]);
  const update = (several) => {
    const all = several.flat();
    const kinds = FACTS.workColumns.filter((_, at) => all.some(([ops]) => ops[at] > 0));
    if (all.some(([, copies]) => copies > 0)) kinds.push("copies");
    root.hidden = !kinds.length;
    keyed(root, kinds, (kind) => kind, entry, () => {});
  };
  return Object.assign(root, { update });
}
