// One device in the memory view: tensors in use, pool and limit, as figures and as nested bars.

import { attr, h, keyed, put } from "./dom.js";
import { shortInCluster } from "./map_flows.js";
import { makeFigure, percentOf, setStyle, updateFigure } from "./memory_figure.js";
import { makeHistory, updateHistory } from "./memory_history.js";
import { makeMap, updateMap } from "./memory_map.js";
import { inUnits } from "./memory_moment.js";
import { makeRefusedPlane, updateRefusedPlane } from "./refused_plane.js";
import { WORDS, fill } from "./words.js";

const FULL = 0.9;
const REFUSED_BESIDE = 24; // px besides the picture of a failed request: padding and edges of its device
const FIGURES = ["in_use", "peak", "pool", "limit"];

export function makeMemoryDevice(device, view) {
  const said = WORDS.memory;
  const parts = {
    model: h("span", { class: "nbtf-mem-model" }),
    hot: h("strong", { class: "nbtf-mem-hot", hidden: "" }, said.nearlyFull),
    now: h("strong", { class: "nbtf-mem-now", hidden: "" }, said.thisStep),
    figures: h("dl", { class: "nbtf-mem-figures" }),
    bar: makeBar(),
    share: h("p", { class: "nbtf-mem-share" }),
    history: makeHistory(),
    refused: makeRefusedPlane(),
    why: h("span", { class: "nbtf-mem-why" }),
    view,
    map: null, // created once the device has a map
  };
  const head = h(
    "p",
    { class: "nbtf-mem-head" },
    h("strong", { class: "nbtf-mem-name" }, shortInCluster(device.name)),
    h("span", { class: "nbtf-mem-kind" }, said.kinds[device.kind] || device.kind),
    parts.model,
    parts.hot,
    parts.now,
    parts.why,
  );
  parts.account = h(
    "div",
    { class: "nbtf-mem-account" },
    h("div", { class: "nbtf-mem-now-figures" }, parts.figures, parts.bar, parts.share),
    parts.history,
  );
  const root = h(
    "div",
    { class: "nbtf-mem-device", role: "group", "data-device": device.name, "data-kind": device.kind },
    head,
    parts.refused,
    parts.account,
  );
  root.nbtf = parts;
  return root;
}

// `show`: {moment, scale of all curves, now (whether the current step belongs to this device), replayed, alone (on its card), state}
export function updateMemoryDevice(root, device, show) {
  const parts = root.nbtf;
  const { moment } = show;
  const share = moment && moment.limit ? moment.in_use / moment.limit : 0;
  attr(root, "aria-label", nameOfDevice(device));
  attr(root, "data-now", show.now ? "" : null);
  const refusal = show.replayed ? null : device.refusal;
  const isHot = Boolean(refusal) || share > FULL;
  attr(root, "data-hot", isHot ? "" : null);
  put(parts.hot, refusal ? WORDS.memoryPicture.outOfMemory : WORDS.memory.nearlyFull);
  put(parts.model, modelOf(device, show.alone));
  parts.hot.hidden = !isHot;
  if (updateRefusedPlane(parts.refused, refusal, root.clientWidth - REFUSED_BESIDE) && parts.view.ui.docked()) parts.refused.scrollIntoView({ block: "nearest" });
  parts.now.hidden = !show.now;
  parts.account.hidden = !moment;
  const why = reasonWithout(device, moment, show.replayed);
  parts.why.hidden = !why;
  put(parts.why, why);
  if (moment) showAccount(parts, device, moment, share, show);
  if (parts.map) parts.map.hidden = !device.map;
  if (!device.map) return;
  if (!parts.map) root.append((parts.map = makeMap(device.name, parts.view)));
  updateMap(parts.map, device, show.state, show.replayed);
}

export function nameOfDevice(device) {
  const said = WORDS.memory;
  const values = { name: shortInCluster(device.name), kind: said.kinds[device.kind] || device.kind, model: device.model };
  return fill(device.model ? said.deviceLabel : said.deviceLabelPlain, values);
}

function modelOf(device, alone) {
  const said = WORDS.memory;
  if (device.kind === "host") return "";
  if (!alone) return "";
  const values = { model: device.model || "GPU", size: inUnits(device.card_memory) };
  return device.card_memory ? fill(said.cardOf, values) : values.model;
}

function reasonWithout(device, moment, replayed) {
  const said = WORDS.memory;
  if (device.lost) return fill(said.lost, { why: device.lost });
  if (device.kind === "host") return said.host;
  if (moment) return "";
  return replayed && device.memory ? said.unknown : said.notStarted;
}

function showAccount(parts, device, moment, share, { replayed, scale }) {
  const said = WORDS.memory;
  const shown = FIGURES.map((key) => ({
    key,
    label: key === "peak" && replayed ? said.peakReplayed : said.figures[key],
    value: moment[key],
    more: key === "in_use" && moment.requested !== null && moment.requested !== moment.in_use ? moment.requested : null,
  }));
  keyed(parts.figures, shown, (figure) => figure.key, makeFigure, updateFigure);
  updateBar(parts.bar, moment);
  const told = share > 0 && share < 0.01 ? said.shareUnderOne : said.share;
  const text = fill(moment.in_use ? told : said.empty, { percent: Math.floor(100 * share) });
  put(parts.share, text);
  attr(
    parts.bar,
    "aria-label",
    fill(said.barLabel, {
      name: shortInCluster(device.name),
      used: inUnits(moment.in_use),
      pool: inUnits(moment.pool),
      limit: inUnits(moment.limit),
      peak: inUnits(moment.peak),
      text,
    }),
  );
  updateHistory(parts.history, device.name, moment, scale);
}

// bars

function makeBar() {
  const parts = {
    pool: h("span", { class: "nbtf-mem-pool" }),
    used: h("span", { class: "nbtf-mem-used" }),
    peak: h("span", { class: "nbtf-mem-peak" }),
  };
  const root = h("div", { class: "nbtf-mem-bar", role: "img" }, parts.pool, parts.used, parts.peak);
  root.nbtf = parts;
  return root;
}

function updateBar(root, moment) {
  const { pool, used, peak } = root.nbtf;
  const whole = moment.limit || moment.pool || 1;
  const place = (n) => percentOf(n, whole);
  setStyle(pool, "width", place(moment.pool));
  setStyle(used, "width", place(moment.in_use));
  setStyle(peak, "left", place(moment.peak));
  attr(pool, "data-some", moment.pool > 0 ? "" : null);
  attr(used, "data-some", moment.in_use > 0 ? "" : null);
  peak.hidden = !moment.peak;
}
