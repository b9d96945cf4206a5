// Maps times to px, measures how busy each column of pixels was, and formats durations and sizes.

import { grouped } from "./words.js";

// Maps the times of a window to px: the px of its beginning and of its end.
export function timeScale(begin, end, from, to) {
  const seconds = to - from;
  const width = end - begin;
  const exact = (moment) => begin + (seconds ? (moment - from) / seconds : 0) * width;
  const at = (moment) => Math.round(exact(moment) * 10) / 10;
  const inside = (moment) => Math.max(begin, Math.min(at(moment), end));
  return { begin, end, from, to, seconds, width, rate: seconds ? width / seconds : 0, exact, at, inside, moment: (x) => from + ((x - begin) / (width || 1)) * seconds };
}

// The width of columns in px, given how many of 1 px would be needed, the length of all lanes together, and how many may be drawn.
export function columnWidth(columns, width, most) {
  return columns <= most ? 1 : Math.max(1, Math.ceil(width / most));
}

// Sums up the load of a lane's columns by token: `add` pieces (busy for a share of their time) or sums of many, then read the `boxes`.
// Anything that lasted at all is at least `least` px high. Each piece counts with a `weight`, such as 1 / the number of devices.
export function stack(scale, y, height, step, tokens, least = 0, weight = 1) {
  const columns = Math.ceil(scale.width / step);
  const busy = new Float64Array(columns * tokens.length);
  const rate = scale.rate / step;
  const add = (from, to, token, part = 1) => {
    const share = part * weight;
    const begin = Math.max(0, (from - scale.from) * rate);
    const stop = Math.min(columns, (to - scale.from) * rate);
    if (Math.floor(begin) === Math.floor(stop)) return void (busy[Math.floor(begin) * tokens.length + token] += share * Math.max(0, stop - begin));
    for (let column = Math.floor(begin); column < stop; column++) {
      busy[column * tokens.length + token] += share * Math.max(0, Math.min(stop, column + 1) - Math.max(begin, column));
    }
  };
  // Takes a function that returns a token's total seconds up to a time; it is called in order of time.
  const addSums = (secondsUntil, token) => {
    let before = secondsUntil(scale.from);
    for (let column = 0; column < columns; column++) {
      const after = secondsUntil(scale.from + (column + 1) / rate);
      busy[column * tokens.length + token] += (after - before) * rate * weight;
      before = after;
    }
  };
  return { columns, add, addSums, boxes: () => boxesOf(busy, scale, y, height, step, tokens, least) };
}

// Equal neighbours become one box.
function boxesOf(busy, scale, y, height, step, tokens, least) {
  const sides = new Map();
  const columns = busy.length / tokens.length;
  const factor = step === 1 ? 10 : 1;
  const wholes = new Float64Array(columns); // pieces of several colours may overlap
  busy.forEach((share, at) => (wholes[Math.floor(at / tokens.length)] += Math.min(share, 1)));
  const level = (share, whole) => halfEven((height * Math.min(share, 1) * factor) / Math.max(whole, 1)) / factor;
  const levels = busy.map((share, at) => (share > 0 ? Math.max(level(share, wholes[Math.floor(at / tokens.length)]), least) : 0));
  const same = (a, b) => tokens.every((_, token) => levels[a * tokens.length + token] === levels[b * tokens.length + token]);
  for (let column = 0; column < columns; ) {
    let next = column + 1;
    while (next < columns && same(column, next)) next++;
    const x = scale.begin + column * step;
    let base = y + height;
    tokens.forEach((token, number) => {
      const size = levels[column * tokens.length + number];
      if (size <= 0) return;
      base -= size;
      if (!sides.has(token)) sides.set(token, []);
      sides.get(token).push([x, base, Math.min((next - column) * step, scale.end - x), size]);
    });
    column = next;
  }
  return [...sides].map(([fill, all]) => ({ mark: "boxes", sides: all, fill }));
}

// Rounds as Python does: halves to the even neighbour.
export function halfEven(number) {
  const rounded = Math.round(number);
  return Math.abs(number % 1) === 0.5 && rounded % 2 ? rounded - 1 : rounded;
}

// "1.04 ms", "29 µs", "3 ns": three digits.
export function durationWords(seconds) {
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (seconds >= size * 0.9995) return `${threeDigits(seconds / size)} ${unit}`;
  }
  return `${threeDigits(seconds * 1e9)} ns`;
}

// "919 KiB", "5.38 MiB", "12 B".
export function sizeWords(nbytes) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024]]) {
    if (nbytes >= size) return `${threeDigits(nbytes / size)} ${unit}`;
  }
  return `${nbytes} B`;
}

function threeDigits(number) {
  return number >= 99.95 ? grouped(halfEven(number)) : digitsOf(number, 3);
}

// Rounds to a number of digits as Python does: halves to the even neighbour. Only eighths lie exactly in between.
export function digitsOf(number, digits) {
  const scale = 10 ** (digits - 1 - Math.floor(Math.log10(number || 1)));
  const isHalf = Number.isInteger(number * 8) && (number * scale) % 1 === 0.5;
  return String(isHalf ? halfEven(number * scale) / scale : +number.toPrecision(digits));
}
