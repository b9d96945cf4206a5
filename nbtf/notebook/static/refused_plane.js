// A failed request in the live view: the memory of its device by address and step, up to the request that did not fit.

import { attr, h } from "./dom.js";
import { marksAt, planeGround, planeLayout } from "./plane_picture.js";
import { drawPicture, drawing } from "./picture.js";
import { historyOf } from "./recorded_history.js";

export function makeRefusedPlane() {
  const picture = drawing();
  const root = h("div", { class: "nbtf-mem-refused", role: "img", hidden: "" }, picture);
  root.nbtf = { picture, drawn: "", history: null, seq: null };
  return root;
}

// Draws the data of a refusal at some width in px, or nothing; returns whether it is another refusal than before.
export function updateRefusedPlane(root, refusal, width) {
  const own = root.nbtf;
  root.hidden = !refusal;
  if (!refusal) return void (own.seq = own.history = null);
  const isNew = own.seq !== refusal.seq;
  if (own.data !== refusal) Object.assign(own, { data: refusal, seq: refusal.seq, history: historyOf(refusal), drawn: "" });
  if (!width || own.drawn === `${width}`) return isNew;
  own.drawn = `${width}`;
  const layout = planeLayout(own.history, width);
  const { step, request, sentence } = own.history.refusals.at(-1);
  const ground = planeGround(layout);
  drawPicture(own.picture, { ...ground, marks: [...ground.marks, ...marksAt(layout, step)] });
  attr(root, "aria-label", request + sentence);
  return isNew;
}
