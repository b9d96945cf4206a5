// Draws how an op was placed on its device: a box for each placement rule that was tried.

import { fitted, line, rectangle, text, widthOfText } from "./picture.js";
import { WORDS, fill } from "./words.js";

const WAY = { inside: 12, height: 50, beside: 26, below: 18 }; // a box, and the arrow to the next one beside or below it, in px

// Converts phrases of Python, [[question, answer, colour]] (see stills/reasons.py), to texts: [{question, answer, colour}].
export function stepsOf(phrases) {
  return phrases.map(([question, answer, colour]) => ({ question: phraseWords(question), answer: phraseWords(answer), colour }));
}

// A phrase is a text, or the name of a text and its values: [name, {name: phrase}].
function phraseWords(phrase) {
  if (typeof phrase === "string") return phrase;
  const values = Object.entries(phrase[1]).map(([name, value]) => [name, phraseWords(value)]);
  return fill(WORDS.decision[phrase[0]], Object.fromEntries(values));
}

// [a box for each step, side by side if all texts fit, otherwise stacked; the y coordinate below].
export function drawnWay(steps, x, y, width) {
  const widths = steps.map((step) => Math.max(...stepTexts(step, 0, 0).map(widthOfText)) + 2 * WAY.inside);
  const free = width - widths.reduce((sum, each) => sum + each, 0) - WAY.beside * (steps.length - 1);
  const marks = [];
  steps.forEach((step, number) => {
    const across = free >= 0 ? widths[number] + free / steps.length : width;
    const isLast = number === steps.length - 1;
    marks.push(...stepBox(step, x, y, across));
    if (free >= 0) {
      x += across + WAY.beside;
      if (!isLast) marks.push(wayArrow(x - WAY.beside + 3, y + WAY.height / 2, x - 3, y + WAY.height / 2));
    } else if (!isLast) {
      y += WAY.height + WAY.below;
      marks.push(wayArrow(x + 24, y - WAY.below + 2, x + 24, y - 2));
    }
  });
  return [marks, y + WAY.height];
}

function wayArrow(x1, y1, x2, y2) {
  return line(x1, y1, x2, y2, { stroke: "soft", width: 1.4, arrow: true });
}

function stepTexts(step, x, y) {
  return [text(x, y + 20, step.question, { fill: "soft", size: 11 }), text(x, y + 38, step.answer, { fill: step.colour, size: 13, weight: 650 })];
}

function stepBox(step, x, y, width) {
  const stroke = { hot: "hot", ok: "ok" }[step.colour] ?? "hair2";
  const look = { stroke, strokeWidth: step.colour === "ok" ? 1.6 : 1, radius: 8, dashed: step.colour === "hot" };
  const texts = stepTexts(step, x + WAY.inside, y);
  return [
    rectangle(x + 0.5, y + 0.5, width - 1, WAY.height - 1, "", look),
    ...texts.map((mark) => ({ ...mark, words: fitted(mark.words, width - 2 * WAY.inside + 0.5, mark.size, mark.weight) })),
  ];
}
