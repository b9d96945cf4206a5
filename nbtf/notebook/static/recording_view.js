// Shows a recording in a notebook: instead of its picture, the views of a saved page, which zoom without the kernel.

import { clock, h, put } from "./dom.js";
import { showScene } from "./tabs.js";
import { followTheme } from "./theme.js";
import { WORDS, fill, useWords } from "./words.js";

const LOOK_EVERY = 1000; // milliseconds between two checks for the kernel, because pages are not notified of every way in which it can end

let language = "en";

// Switches to the words of a language, or to English.
export function speakIn(words) {
  language = words?.lang ?? "en";
  useWords(words);
}

// `asker` sends questions to the kernel, and knows whether it is connected (see recording_loader.js).
export function showRecording(still, scene, asker) {
  const taken = Date.now() / 1000;
  const focus = JSON.parse(still.dataset.nbtfFocus || "null");
  const note = h("p", { class: "nbtf-note", role: "status" });
  const root = h("div", { class: "nbtf-recording", lang: language });
  const part = () => scene.lastSteps && scene.memory ? [fill(WORDS.recording.lastSteps, { n: scene.lastSteps })] : [];
  const state = () => (asker.live() ? [] : [fill(WORDS.recording.asOf, { time: clock(taken) })]);
  const say = () => put(note, [...part(), ...state()].join(" "));
  still.replaceWith(root);
  followTheme(root);
  showScene(root, scene, { focus, ask: asker.ask }).append(note);
  say();
  const watch = setInterval(() => (say(), asker.live() || clearInterval(watch)), LOOK_EVERY);
}
