// Draws how an op was placed on its device: a box for each placement rule that was tried. Counterpart of stills/decision.py.

import { fitted, line, rectangle, text, widthOfText } from "./picture.js";
import { WORDS, fill } from "./words.js";

const WAY = { inside: 12, height: 50, beside: 26, below: 18 };
const QUESTIONS = {
  "tf.device": "byScope", "%%device": "byCell", "default device": "byDefault", strategy: "byStrategy", dataset: "byDataset",
  call: "byCall", machine: "here",
  "soft placement": "softPlacement", "lowest-numbered GPU": "lowest", CPU: "cpu", kernel: "kernel", variable: "variable", dtype: "dtype",
};
const ABOUT = /^(?:Has|Where is) (\S+) /; // the op or the dtype in a question

// Converts rules, [[rule, question, answer]], to texts: [{question, answer, colour}].
export function stepsOf(rules) {
  return rules.map(([rule, question, answer], number) => ({
    question: questionInWords(rule, question, answer),
    answer: answerInWords(rule, answer),
    colour: number === rules.length - 1 ? "ok" : answer.split(":")[0] === "no" ? "hot" : "ink",
  }));
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

function questionInWords(rule, question, answer) {
  const said = WORDS.decision;
  if (rule === "lowest-numbered GPU" && answer === "no") return said.anyGpu;
  const key = QUESTIONS[rule];
  return key ? fill(said[key], { name: ABOUT.exec(question)?.[1] ?? "" }) : `${rule}: ${question}`;
}

function answerInWords(rule, whole) {
  const said = WORDS.decision;
  if (rule === "soft placement") return said.on;
  const [, answer, devices] = /^(.*?)(?:: (.*))?$/.exec(whole);
  if (answer === "no" && devices) {
    const [, first, last] = /^(.*?)(?: to (.*))?$/.exec(devices);
    return fill(said.notHere, { names: last ? fill(said.devices, { first, last }) : (said[devices] ?? devices) });
  }
  return ["yes", "no", "host"].includes(whole) ? said[whole] : whole;
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
