// The views of a scene in a saved page or a notebook, with a tab for each. To add a view, add it to the list.
//
// A view is {name, title(), create(root, data, ui)}: `name` is the key of its data in the scene; `create` builds it in `root`
// and returns {draw(width), focus?(what)}. `draw` updates it; `focus` shows {device, span} on the clock. `ui.changed()`
// requests a `draw` before the next frame; `ui.shared` is the common state of a scene's views, with their `moment`, {seq}, which
// `ui.moveTo` sets; `ui.ask(question)` fetches more data if a kernel is connected. A view without data explains why.

import { attr, focusUnderMouse, h, newName, keepKeys, put, rove } from "./dom.js";
import { mapView } from "./map_view.js";
import { memoryState } from "./memory_state.js";
import { followMoments, shareMoment } from "./moment.js";
import { planeView, stackView, treemapView } from "./plane_view.js";
import { fileHead, holdersView, whatIfView } from "./snapshot_views.js";
import { timelineView } from "./timeline_view.js";
import { WORDS } from "./words.js";

const SCENE_VIEWS = [timelineView, planeView, stackView, treemapView, mapView];
const SNAPSHOT_VIEWS = [stackView, planeView, treemapView, holdersView, whatIfView]; // the addresses of a long run are stripes

// Replaces an element's content by the views of a scene; returns the views.
export function showScene(main, scene, { focus = null, ask = null } = {}) {
  const ui = { shared: {}, ask, changed: () => (frameDue ||= requestAnimationFrame(drawShown)) };
  const isWhole = scene.timeline && !scene.whatIf; // otherwise no data are coming
  const views = isWhole ? SCENE_VIEWS : [...(scene.holders ? SNAPSHOT_VIEWS : [...SCENE_VIEWS, whatIfView])].filter(({ name }) => scene[name]);
  if (!isWhole) memoryState(ui.shared, scene.memory);
  const panels = views.map((view) => tabPanel(view, scene, ui));
  const tabs = panels.map((panel, number) => tabButton(views[number], panel, () => show(number)));
  const row = h("div", { class: "nbtf-tabs", role: "tablist" }, tabs);
  const head = scene.file ? fileHead(scene.file) : null;
  const root = keepKeys(h("div", { class: "nbtf-view nbtf-scene" }, head, row, panels.map((panel) => panel.root)));
  let shown = 0;
  let frameDue = 0;
  const drawShown = () => {
    frameDue = 0;
    panels[shown].view().draw(root.clientWidth);
  };
  const show = (number) => {
    shown = number;
    panels.forEach((panel, other) => (panel.root.hidden = other !== number));
    tabs.forEach((tab, other) => attr(tab, "aria-selected", String(other === number)));
    drawShown();
  };
  const take = (seq) => {
    ui.shared.moment = { seq };
    ui.changed();
  };
  ui.moveTo = (seq) => (take(seq), shareMoment(root, seq));
  followMoments(root, take);
  main.replaceChildren(root);
  rove(row, '[role="tab"]')();
  focusUnderMouse(root, '.nbtf-plane, [role="tabpanel"]');
  show(0);
  if (focus) panels[0].view().focus?.(focus);
  new ResizeObserver(ui.changed).observe(root);
  askForRest(scene, ui);
  return root;
}

// A panel whose view is created when it is first shown.
function tabPanel(view, scene, ui) {
  const root = h("section", { id: newName(), role: "tabpanel", tabindex: "-1", "aria-label": view.title() });
  const make = () => {
    root.replaceChildren();
    return scene[view.name] ? view.create(root, scene[view.name], ui) : emptyView(root, scene);
  };
  let made = null;
  return { root, view: () => (made?.empty && scene[view.name] ? (made = make()) : (made ??= make())) };
}

function emptyView(root, scene) {
  const note = h("p", { class: "nbtf-note", role: "status" });
  root.append(note);
  const reason = () => (scene.coming ? "coming" : scene.timeline.cut ? "cut" : "none");
  return { empty: true, draw: () => put(note, WORDS.plane[reason()]) };
}

// Slow data is requested once the rest is displayed.
function askForRest(scene, ui) {
  const take = (rest) => (Object.assign(scene, rest, { coming: "" }), ui.changed());
  if (scene.coming) ui.ask({ what: scene.coming }).then(take, () => {}); // without a kernel, the message that data is coming stays
}

function tabButton(view, { root }, onclick) {
  return h("button", { type: "button", role: "tab", "aria-controls": root.id, onclick }, view.title());
}
