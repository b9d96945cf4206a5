// A real card as a whole: figures that are often confused, and how they add up to the value in `nvidia-smi`.

import { attr, exact, h, keyed, put } from "./dom.js";
import { makeFigure, percentOf, setStyle, updateFigure } from "./memory_figure.js";
import { inUnits } from "./memory_moment.js";
import { WORDS, fill, listed, translated } from "./words.js";

const REAL = ["used", "process", "pool", "in_use"];

export function makeReal() {
  const parts = {
    title: h("p", { class: "nbtf-mem-card-title" }),
    facts: h("p", { class: "nbtf-mem-why" }),
    figures: h("dl", { class: "nbtf-mem-figures" }),
    bar: h("div", { class: "nbtf-mem-card-bar", role: "img" }),
    legend: h("ul", { class: "nbtf-mem-terms" }),
    why: h("p", { class: "nbtf-mem-why" }),
  };
  const { title, facts, figures, bar, legend, why } = parts;
  const root = h("div", { class: "nbtf-mem-real" }, title, facts, figures, bar, legend, why);
  root.nbtf = parts;
  return root;
}

// `device` is any device on the card; all have the same values.
export function updateReal(root, device, replayed) {
  const real = device.real;
  root.hidden = device.kind !== "real";
  if (root.hidden) return;
  const said = WORDS.memory;
  const parts = root.nbtf;
  put(parts.title, fill(said.realTitle, { name: real?.name ? translated("cards", real.name) : said.realCard }));
  put(parts.facts, factsOf(real, replayed));
  parts.facts.hidden = !parts.facts.textContent;
  keyed(parts.figures, realFigures(real), (figure) => figure.key, makeFigure, updateFigure);
  const terms = realTerms(real);
  const whole = real?.total;
  parts.bar.hidden = parts.legend.hidden = !terms.length || !whole;
  if (!parts.bar.hidden) {
    attr(parts.bar, "aria-label", fill(said.realSum, { terms: listed(terms.map(inWords)) }));
    const drawn = terms.filter(({ key }) => key !== "free");
    keyed(parts.bar, drawn, (term) => term.key, makePartOfReal, (node, term) =>
      setStyle(node, "width", percentOf(term.value, whole)),
    );
    keyed(parts.legend, terms, (term) => term.key, makeTerm, (node, term) => put(node.lastChild, inWords(term)));
  }
  put(parts.why, real?.why ? fill(said.realUnknown, { why: translated("cards", real.why) }) : "");
  parts.why.hidden = !real?.why;
}

export function realFigures(real) {
  const said = WORDS.memory;
  return REAL.map((key) => ({ key: `real ${key}`, label: said.real[key], value: real?.[key], absent: said.notMeasured }));
}

function factsOf(real, replayed) {
  const said = WORDS.memory;
  const known = ["utilization", "temperature", "watts"].filter((key) => Number.isFinite(real?.[key]));
  const facts = known.map((key) => fill(said.realFacts[key], { n: real[key] }));
  return listed([...facts, ...(replayed ? [said.realIsEnd] : [])]);
}

// The parts of the card's memory, and what is left; empty if the driver does not report a total.
function realTerms(real) {
  if (!real || real.used === null) return [];
  const libraries = real.libraries.reduce((sum, [, taken]) => sum + taken, 0);
  const ours = real.pool + libraries;
  const whose =
    real.context === null
      ? [["unknown", real.used - ours]]
      : [["context", real.context], ["others", real.others], ["rest", real.rest]];
  const terms = [["in_use", real.in_use], ["pool", real.pool - real.in_use], ["libraries", libraries], ...whose];
  const free = [["free", real.total === null ? 0 : real.total - real.used]];
  const names = listed(real.libraries.map(([name]) => name));
  return [...terms, ...free]
    .filter(([, value]) => value > 0)
    .map(([key, value]) => ({ key, value, n: real.other_processes, names }));
}

function inWords({ key, value, n, names }) {
  return fill(WORDS.memory.realTerms[key], { size: inUnits(value), n, names });
}

function makePartOfReal({ key }) {
  return h("span", { class: "nbtf-mem-term", "data-of": key });
}

function makeTerm({ key }) {
  const swatch = h("span", { class: "nbtf-mem-term nbtf-mem-swatch", "data-of": key, "aria-hidden": "true" });
  return h("li", null, swatch, h("span"));
}

// The same values as rows of a table.
export function realRow(device) {
  return [
    device.name,
    ...[...REAL, "context", "others", "rest"].map((key) =>
      Number.isFinite(device.real?.[key]) ? exact(device.real[key]) : WORDS.memory.notMeasured,
    ),
  ];
}
