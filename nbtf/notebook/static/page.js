// How does a saved page show what it holds, without a kernel? As the views of a scene, instead of its still picture.

import { showScene } from "./tabs.js";
import { useWords } from "./words.js";

export function showPage() {
  const { words, scene } = JSON.parse(document.getElementById("nbtf-scene").textContent);
  useWords(words);
  showScene(document.querySelector(".nbtf-page"), scene);
}
