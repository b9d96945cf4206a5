// Every visible text of the views, in the language of the page.
//
// The texts stand in words/*.json, one file for a language; catalogue.py makes those in English the module that is
// imported here, and sends others when they are asked for. A view's words have a section of their own (frame, replay, map,
// memory); `reasons`, `places` and `cards` are what Python tells in English. Texts with {names} are completed by `fill`; a
// number is written with separators, so that "100000" reads "100,000", and chooses between "op" and "ops". Device names,
// ops and code are data, never words.

import { ENGLISH } from "./catalogue.js";

export const WORDS = { ...ENGLISH };
const PATTERNS = new Map(); // section -> [[how to know an English text again, its key]]
const TRANSLATED = new Map();
const MOST_TRANSLATED = 2000;

// Takes the words from a translation, {lang, texts: those of ENGLISH in order}, or the English ones.
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

// What Python tells in English, in the language of the page; as it is where no text of that section fits.
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

// The English text it was made of and what was put in: {key, values}, or nothing. What has more words of its own goes first.
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

// Some names after one another.
export function listed(names) {
  return names.join(WORDS.frame.comma);
}

// A text with its values in place of their {names}. Of "[one|several]" or "[s]" the value before it chooses.
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
