// Lays out texts that may need more than one line.

import { fitted, isWide, widthOfText } from "./picture.js";

const FLOWED = { gap: 16, line: 18 }; // px between texts, and between baselines
const NUMBER_BEFORE = /\d $/;
const UNIT_AFTER = /^([KMGT]iB|B|[nµm]?s)\b|^%/;
const NEVER_FIRST = /^[\p{Pe}\p{Pf}\p{Po}\p{Lm}]$/u;

// [the texts side by side, wrapped where necessary; the baseline of the last line].
export function flowed(texts, begin, right, y) {
  const marks = [];
  let x = begin;
  for (const text of texts) {
    linesOf(text, right - begin).forEach((words, number) => {
      const width = widthOfText({ ...text, words });
      if (x > begin && (number || x + width > right)) [x, y] = [begin, y + FLOWED.line];
      marks.push({ ...text, x, y, words, continues: number > 0 });
      x += width + FLOWED.gap;
    });
  }
  return [marks, y];
}

// Splits words into lines that fit: broken where their language allows it, and cut only if it does not.
export function linesOf(text, room) {
  const lines = [""];
  for (const word of withUnits(unbroken(text.words))) {
    const longer = lines.at(-1) + word;
    if (lines.at(-1) && widthOfText({ ...text, words: longer.trimEnd() }) > room) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.map((words) => fitted(words.trimEnd(), room, text.size, text.weight, text.mono));
}

// Joins each number with its unit.
function withUnits(words) {
  return words.reduce((joined, word) => {
    if (joined.length && NUMBER_BEFORE.test(joined.at(-1)) && UNIT_AFTER.test(word)) joined[joined.length - 1] += word;
    else joined.push(word);
    return joined;
  }, []);
}

// Unbreakable parts: words with the following space; Chinese and Japanese characters one by one.
function unbroken(words) {
  const pieces = [];
  let piece = "";
  const end = () => (piece && pieces.push(piece), (piece = ""));
  for (const letter of words) {
    const wide = isWide(letter);
    if (wide && NEVER_FIRST.test(letter)) piece += letter;
    else {
      if (wide || (piece && isWide([...piece].at(-1)) && letter !== " ")) end();
      piece += letter;
      if (letter === " " && !wide) end();
    }
  }
  end();
  return pieces;
}
