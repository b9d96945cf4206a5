// The last steps as a list that can be filtered. Rows are reused, so a busy loop creates no new elements.

import { attr, bytes, h, put } from "./dom.js";
import { opName, readStep, windowOf } from "./replay.js";
import { WORDS, fill, translated } from "./words.js";

const MOST_LISTED = 200;

// `choose(i)` is called with the index of a pressed step, `changed()` when the filter changes.
export function makeStepList(chosen, choose, changed) {
  const said = WORDS.map;
  const box = h("input", { type: "search", class: "nbtf-filter", placeholder: said.filterHint, autocomplete: "off",
    oninput: () => ((chosen.filter = box.value), changed()) });
  const count = h("span", { class: "nbtf-count" });
  const rows = h("ol", { class: "nbtf-rows", role: "list" });
  const scroll = h("div", { class: "nbtf-steps-box", tabindex: "0", role: "group", "aria-label": said.list }, rows);
  const head = h("div", { class: "nbtf-steps-head" }, h("span", { class: "nbtf-steps-title" }, said.steps), count,
    h("label", { class: "nbtf-filter-label" }, said.filter, " ", box));
  const root = h("div", { class: "nbtf-steps" }, head, scroll);
  return Object.assign(root, { nbtf: { count, rows, scroll, choose, pool: [], at: null } });
}

export function updateStepList(root, state, position, filter) {
  const { count, rows, pool, scroll } = root.nbtf;
  const steps = state.steps.map((_, i) => readStep(state, i));
  const near = (i) => steps.length <= MOST_LISTED || Math.abs(i - position) <= MOST_LISTED / 2;
  const found = matching(steps, filter || "").filter(near);
  while (pool.length < found.length) pool.push(rows.appendChild(makeRow(root)));
  pool.forEach((row, k) => {
    row.hidden = k >= found.length;
    if (k < found.length) updateRow(row, steps[found[k]], found[k], position);
  });
  scroll.hidden = !steps.length;
  put(count, total(state, found.length, Boolean(filter)));
  follow(root.nbtf, found.indexOf(position), position);
}

function matching(steps, filter) {
  const wanted = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const all = steps.map((_, i) => i);
  if (!wanted.length) return all;
  return all.filter((i) => {
    const { op, node, device, target, why } = steps[i];
    const text = `${op} ${node} ${device} ${target} ${why} ${translated("reasons", why)}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

function total(state, m, filtered) {
  const said = WORDS.map;
  const n = state.steps.length;
  if (!n) return said.noSteps;
  if (filtered) return fill(said.matching, { m, n, heard: state.heard });
  return stepsInWords(state);
}

// The positions of a state's steps among all steps.
export function stepsInWords(state) {
  const n = state.steps.length;
  const { begin, count, cut } = windowOf(state);
  if (n < count) return fill(WORDS.replay.part, { first: begin + 1, last: begin + n, n: count });
  return fill(cut ? WORDS.map.lastShown : WORDS.map.allShown, { n, heard: state.heard });
}

function makeRow(root) {
  const cell = (name) => h("span", { class: `nbtf-cell nbtf-${name}` });
  const [what, where, why, size, code] = ["what", "where", "reason", "size", "code"].map(cell);
  const row = h("li", { class: "nbtf-row-step", onclick: () => root.nbtf.choose(row.nbtf.i) }, what, where, why, size, code);
  return Object.assign(row, { nbtf: { what, where, why, size, code, i: 0 } });
}

function updateRow(row, step, i, position) {
  const said = WORDS.map;
  const parts = row.nbtf;
  parts.i = i;
  const op = opName(step);
  put(parts.what, step.kind === 2 ? fill(said.failedOp, { op }) : step.kind === 1 ? said.copyOp : op);
  put(parts.where, step.kind === 1 ? fill(said.route, step) : step.device);
  put(parts.why, translated("reasons", step.why));
  put(parts.size, step.nbytes >= 0 ? bytes(step.nbytes) : "");
  put(parts.code, translated("places", step.code));
  attr(row, "data-kind", step.kind);
  attr(row, "aria-current", i === position ? "step" : null);
  attr(row, "data-later", position !== null && i > position ? "" : null);
}

// The list keeps its end in view through CSS (column-reverse); in the replay it follows the current step.
function follow(parts, k, position) {
  if (parts.at === position) return;
  parts.at = position;
  if (position === null) parts.scroll.scrollTop = 0;
  else if (k >= 0) {
    const row = parts.pool[k];
    const middle = row.offsetTop + row.offsetHeight / 2;
    parts.scroll.scrollTop = middle + parts.scroll.clientHeight / 2 - parts.rows.offsetHeight;
  }
}
