// Draws a tensor's placement and the decision path to it.
//
// The input comes from stills/decision.py: {device, reason: as text, asked, op, about: shape and dtype, model, path: phrases, line: the
// line of the program, may be empty}.

import { drawnWay, stepsOf } from "./decision.js";
import { flowed } from "./flow.js";
import { framed, text } from "./picture.js";
import { WORDS, fill } from "./words.js";

const DECISION = { margin: 16, narrowest: 240 };

export function decisionPicture({ device, reason, asked, op, about, model, path, line }, width) {
  const wide = Math.max(width, DECISION.narrowest);
  const right = wide - DECISION.margin;
  const steps = stepsOf(path);
  const head = [text(0, 0, device, { size: 15, weight: 650 }), text(0, 0, reason, { fill: asked ? "soft" : "hot", size: 13, weight: 600 })];
  const [marks, second] = flowed(head, DECISION.margin, right, 28);
  const facts = [
    text(0, 0, op, { weight: 600, mono: true }),
    text(0, 0, about),
    text(0, 0, model ? fill(WORDS.decision.simulated, { model }) : "", { fill: "soft", required: true }),
  ];
  const [below, third] = flowed(facts.filter(({ words }) => words), DECISION.margin, right, second + 20);
  const [boxes, last] = drawnWay(steps, DECISION.margin, third + 14, right - DECISION.margin);
  const [foot, y] = line ? flowed([text(0, 0, line, { fill: "soft", size: 11, mono: true })], DECISION.margin, right, last + 20) : [[], last];
  const way = steps.map(({ question, answer }) => `${question} ${answer}`).join(" → ");
  return framed(wide, y + 14, `${device}: ${reason}. ${way}`, [...marks, ...below, ...boxes, ...foot]);
}
