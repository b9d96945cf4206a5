// Turns a still picture in a notebook into the view of a recording, once a reader sees it and a kernel sends the view's program.
//
// A notebook stores only this program and the picture; without a kernel, the picture stays. The program finds the picture by
// its name, so other front ends simply show a picture. Answers of the kernel arrive in parts.

import { askerOf } from "./asker.js";

const RECORDINGS = (globalThis.nbtfRecordings2 ??= { waiting: new Map(), programs: new Map(), watched: new WeakSet(), styled: new WeakMap(), due: 0 });
const NEAR = "300px"; // distance to the window at which a picture is about to be seen

// Activates all pictures of a recording when they are seen, including those that are added later.
export function awaken({ model }) {
  const name = model.get("ident");
  const asker = askerOf(model);
  RECORDINGS.waiting.set(name, (still) => wake(still, model, asker));
  RECORDINGS.observer ??= watchPage();
  lookForStills();
  return () => {
    if (RECORDINGS.waiting.get(name)) RECORDINGS.waiting.delete(name);
  };
}

// If outputs are separate documents or have shadow roots, where a search of the page finds nothing, the picture comes with the view.
export function renderStill({ model, el }) {
  const still = document.createElement("img");
  still.dataset.nbtfRecording = model.get("ident");
  still.alt = model.get("about");
  still.src = model.get("still");
  el.append(still);
  watchStill(still);
}

function watchPage() {
  const observer = new MutationObserver((changes) => {
    if (changes.some(({ addedNodes }) => addedNodes.length)) RECORDINGS.due ||= requestAnimationFrame(lookForStills);
  });
  observer.observe(document.body, { childList: true, subtree: true });
  return observer;
}

function lookForStills() {
  RECORDINGS.due = 0;
  document.querySelectorAll("[data-nbtf-recording]").forEach(watchStill);
}

function watchStill(still) {
  if (RECORDINGS.watched.has(still) || !RECORDINGS.waiting.has(still.dataset.nbtfRecording)) return;
  RECORDINGS.sight ??= new IntersectionObserver(wakeSeen, { rootMargin: NEAR });
  RECORDINGS.watched.add(still);
  RECORDINGS.sight.observe(still);
}

function wakeSeen(entries) {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    RECORDINGS.sight.unobserve(target);
    RECORDINGS.waiting.get(target.dataset.nbtfRecording)?.(target);
  }
}

async function wake(still, model, asker) {
  try {
    const [program, scene] = await Promise.all([programFor(model, asker), asker.ask({ what: "scene" })]);
    if (!still.isConnected) return;
    addStyle(still.getRootNode(), program.style);
    program.showRecording(still, scene, asker);
  } catch (error) {
    console.debug("nbtf: a recording stays a picture", error);
  }
}

// The program of the view, loaded once per page.
async function programFor(model, asker) {
  const name = model.get("program");
  if (!RECORDINGS.programs.has(name)) {
    const { script, style, words } = await asker.ask({ what: "program", language: document.documentElement.lang || "en" });
    const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const program = await import(address);
    URL.revokeObjectURL(address);
    if (!RECORDINGS.programs.has(name)) {
      RECORDINGS.programs.set(name, { showRecording: program.showRecording, style });
      program.speakIn(words);
    }
  }
  return RECORDINGS.programs.get(name);
}

// Adds a style sheet to the page, or to the shadow root that contains the view; once per program.
function addStyle(root, style) {
  const added = RECORDINGS.styled.get(root) ?? new Set();
  if (added.has(style)) return;
  const sheet = document.createElement("style");
  sheet.textContent = style;
  (root.head ?? root).append(sheet);
  RECORDINGS.styled.set(root, added.add(style));
}
