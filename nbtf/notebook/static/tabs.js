// Which views of a scene does a reader see, in a saved page or in a notebook? A tab for each; to add one, add it to the list.
//
// A view is {name, title(), create(root, data, ui)}: `name` is that of its data in the scene; `create` builds it in `root` and
// returns {draw(width), focus?(what)}: `draw` brings it up to date, `focus` shows {device, span} of the clock. `ui.changed()` asks
// for a `draw`, before the next frame.

import { attr, h, newName, rove } from "./dom.js";
import { planeView } from "./plane_view.js";
import { timelineView } from "./timeline_view.js";

const SCENE_VIEWS = [timelineView, planeView];

// Shows a scene's views in an element, instead of what was there; returns theirs.
export function showScene(main, scene, focus = null) {
  const ui = { changed: () => (frameDue ||= requestAnimationFrame(drawShown)) };
  const views = SCENE_VIEWS.filter(({ name }) => scene[name]);
  const panels = views.map((view) => tabPanel(view, scene[view.name], ui));
  const tabs = panels.map((panel, number) => tabButton(views[number], panel, () => show(number)));
  const row = h("div", { class: "nbtf-tabs", role: "tablist" }, tabs);
  const root = h("div", { class: "nbtf-view nbtf-scene" }, row, panels.map((panel) => panel.root));
  let shown = 0;
  let frameDue = 0;
  const drawShown = () => {
    frameDue = 0;
    panels[shown].view.draw(root.clientWidth);
  };
  const show = (number) => {
    shown = number;
    panels.forEach((panel, other) => (panel.root.hidden = other !== number));
    tabs.forEach((tab, other) => attr(tab, "aria-selected", String(other === number)));
    drawShown();
  };
  row.hidden = tabs.length < 2;
  main.replaceChildren(root);
  rove(row, '[role="tab"]')();
  show(0);
  if (focus) panels[0].view.focus?.(focus);
  new ResizeObserver(ui.changed).observe(root);
  return root;
}

function tabPanel(view, data, ui) {
  const root = h("section", { id: newName(), role: "tabpanel", "aria-label": view.title() });
  return { root, view: view.create(root, data, ui) };
}

function tabButton(view, { root }, onclick) {
  return h("button", { type: "button", role: "tab", "aria-controls": root.id, onclick }, view.title());
}
