// Every visible text of the views, in the language of the page.
//
// The texts are in words/*.json, one file per language. catalogue.py converts the English ones into the module imported here,
// and sends others on request. Each view has a section of its own (frame, replay, map, memory); `reasons`, `places` and
// `cards` are texts that Python sends in English. `fill` replaces {names} in texts; it writes numbers with separators, so
// that "100000" reads "100,000", and chooses between "op" and "ops". Device names, ops and code are data, not words.

import { ENGLISH } from "./catalogue.js";

export const WORDS = { ...ENGLISH };
const PATTERNS = new Map(); // section -> [[how to recognize an English text, its key]]
const TRANSLATED = new Map();
const MOST_TRANSLATED = 2000;

// Switches to the words of a translation, {lang, texts: in the order of ENGLISH}, or to English.
export function useWords(translation) {
  Object.assign(WORDS, translation ? withTexts(ENGLISH, [...translation.texts]) : ENGLISH);
  TRANSLATED.clear();
}

// The same keys with other texts.
function withTexts(tree, texts) {
  return Object.fromEntries(Object.entries(tree).map(([key, one]) => [key, isText(one) ? texts.shift() : withTexts(one, texts)]));
}

function isText(one) {
  return typeof one === "string" || Array.isArray(one);
}

// Translates a text that Python sends in English; returns it unchanged if no text of that section matches.
export function translated(section, text) {
  if (WORDS[section] === ENGLISH[section]) return text;
  const known = `${section} ${text}`;
  if (TRANSLATED.size > MOST_TRANSLATED) TRANSLATED.clear();
  if (!TRANSLATED.has(known)) {
    const found = parsed(section, text);
    TRANSLATED.set(known, found ? fill(WORDS[section][found.key], found.values) : text);
  }
  return TRANSLATED.get(known);
}

// Finds the English text and the inserted values: {key, values}, or null. Texts with more words of their own are tried first.
export function parsed(section, text) {
  if (!PATTERNS.has(section)) {
    const longest = Object.entries(ENGLISH[section]).sort(([, a], [, b]) => own(b).length - own(a).length);
    PATTERNS.set(section, longest.map(([key, english]) => [pattern(english), key]));
  }
  for (const [shape, key] of PATTERNS.get(section)) {
    const match = shape.exec(text);
    if (match) return { key, values: match.groups || {} };
  }
  return null;
}

function own(english) {
  return english.replace(/\{\w+\}/g, "");
}

function pattern(english) {
  const plain = english.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  return new RegExp(`^${plain.replace(/\{(\w+)\}/g, "(?<$1>.+?)")}$`);
}

// Joins names into a list.
export function listed(names) {
  return names.join(WORDS.frame.comma);
}

// Replaces {names} by values. For "[one|several]" or "[s]", the value before it decides.
export function fill(text, values) {
  let isOne = false;
  return text.replace(/\{(\w+)\}|\[(?:([^|\]]*)\|)?([^\]]*)\]/g, (_, name, one = "", several) => {
    if (!name) return isOne ? one : several;
    const value = values[name];
    const written = typeof value === "number" ? grouped(value) : String(value ?? "");
    isOne = written === "1";
    return written;
  });
}

export function grouped(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}
