// A figure with its name: in units, with the exact value and further facts beside it.

import { attr, exact, h, put } from "./dom.js";
import { inUnits } from "./memory_moment.js";
import { WORDS, fill } from "./words.js";

export function makeFigure({ key }) {
  const parts = {
    label: h("span"),
    value: h("span", { class: "nbtf-mem-value" }),
    exact: h("span", { class: "nbtf-mem-exact" }),
    more: h("span", { class: "nbtf-mem-exact" }),
  };
  const node = h(
    "div",
    { class: "nbtf-mem-figure" },
    h("dt", null, h("span", { class: "nbtf-mem-swatch", "data-of": key, "aria-hidden": "true" }), parts.label),
    h("dd", null, parts.value, parts.exact, parts.more),
  );
  node.nbtf = parts;
  return node;
}

export function updateFigure(node, { label, value, more, absent }) {
  const { label: name, value: shown, exact: all, more: asked } = node.nbtf;
  const known = value !== null && value !== undefined;
  put(name, label);
  put(shown, known ? inUnits(value) : absent || "–");
  attr(shown, "data-absent", known ? null : "");
  put(all, known && inUnits(value) !== exact(value) ? exact(value) : "");
  put(asked, more === null || more === undefined ? "" : fill(WORDS.memory.asked, { n: exact(more) }));
}

// Formatted as browsers return it, so that `setStyle` recognizes unchanged values.
export function percentOf(part, whole) {
  return `${+Math.min(100, (100 * part) / whole).toFixed(3)}%`;
}

export function setStyle(node, name, value) {
  if (node.style[name] !== value) node.style[name] = value;
}
