// What does a notebook show of a recording? The views of a saved page, which zoom by themselves, instead of its picture.

import { clock, h, keepKey, put } from "./dom.js";
import { showScene } from "./tabs.js";
import { WORDS, fill } from "./words.js";

// `asker` asks the kernel, and knows whether it is there (see recording_loader.js).
export function showRecording(still, scene, asker) {
  const taken = Date.now() / 1000;
  const note = h("p", { class: "nbtf-note", role: "status" });
  const root = h("div", { class: "nbtf-recording", onkeydown: keepKey });
  const say = () => put(note, asker.live() ? "" : fill(WORDS.recording.asOf, { time: clock(taken) }));
  still.replaceWith(root);
  showScene(root, scene).append(note);
  asker.onLive(say);
  say();
}
