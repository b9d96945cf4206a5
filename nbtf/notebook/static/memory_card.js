// A card that several logical GPUs share: the limit of each, to scale.

import { attr, h, keyed, put } from "./dom.js";
import { percentOf, setStyle } from "./memory_figure.js";
import { inUnits } from "./memory_moment.js";
import { makeReal, updateReal } from "./memory_real.js";
import { WORDS, fill, listed } from "./words.js";

export function makeMemoryCard() {
  const parts = {
    title: h("p", { class: "nbtf-mem-card-title" }),
    bar: h("div", { class: "nbtf-mem-card-bar", role: "img" }),
    text: h("p", { class: "nbtf-mem-share" }),
    devices: h("div", { class: "nbtf-mem-devices" }),
    real: makeReal(),
  };
  const root = h("div", { class: "nbtf-mem-card" }, parts.title, parts.bar, parts.text, parts.devices, parts.real);
  root.nbtf = parts;
  return root;
}

// `shares`: [{name, limit, pool, in_use}] of the devices on it; null if unknown.
export function updateMemoryCard(root, devices, shares, replayed) {
  const said = WORDS.memory;
  const { title, bar, text } = root.nbtf;
  const many = devices.length > 1;
  attr(root, "data-many", many ? "" : null);
  attr(root, "data-real", devices[0].kind === "real" ? "" : null);
  updateReal(root.nbtf.real, devices[0], replayed);
  title.hidden = bar.hidden = text.hidden = !many;
  if (!many) return;
  const [first] = devices;
  const whole = first.card_memory;
  put(
    title,
    fill(said.card, {
      card: first.card,
      kind: said.kinds[first.kind],
      model: first.model || "GPU",
      size: inUnits(whole),
      n: devices.length,
    }),
  );
  const known = whole && shares.every((share) => share.limit);
  bar.hidden = text.hidden = !known;
  if (!known) return;
  const left = whole - shares.reduce((sum, share) => sum + share.limit, 0);
  const parts = shares
    .map((share) => fill(said.cardPart, { name: share.name, limit: inUnits(share.limit) }));
  const told = fill(left > 0 ? said.cardParts : said.cardPartsAll, { parts: listed(parts), left: inUnits(left) });
  put(text, told);
  attr(bar, "aria-label", told);
  keyed(
    bar,
    shares,
    (share) => share.name,
    makeShareOfCard,
    (node, share) => updateShareOfCard(node, share, whole),
  );
}

function makeShareOfCard() {
  const parts = { pool: h("span", { class: "nbtf-mem-pool" }), used: h("span", { class: "nbtf-mem-used" }) };
  const node = h("span", { class: "nbtf-mem-part" }, parts.pool, parts.used);
  node.nbtf = parts;
  return node;
}

function updateShareOfCard(node, share, whole) {
  const { pool, used } = node.nbtf;
  setStyle(node, "width", percentOf(share.limit, whole));
  setStyle(pool, "width", percentOf(share.pool, share.limit));
  setStyle(used, "width", percentOf(share.in_use, share.limit));
}
