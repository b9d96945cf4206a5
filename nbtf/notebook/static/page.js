// Shows a saved page without a kernel: the views of its scene replace its still picture.

import { showScene } from "./tabs.js";
import { useWords } from "./words.js";

export function showPage() {
  const { words, scene } = JSON.parse(document.getElementById("nbtf-scene").textContent);
  useWords(words);
  showScene(document.querySelector(".nbtf-page"), scene);
}
