// Which views of a saved recording does a reader see, without a kernel? A tab for each; to add one, add it to the list.
//
// A view is {name, title(), create(root, data, ui)}: `name` is that of its data in the scene; `create` builds it in `root` and
// returns {draw(width)}, which brings it up to date. `ui.changed()` asks for that, before the next frame.

import { attr, h, rove } from "./dom.js";
import { planeView } from "./plane_view.js";
import { timelineView } from "./timeline_view.js";
import { useWords } from "./words.js";

const PAGE_VIEWS = [timelineView, planeView];

// Shows what the page holds instead of its still picture.
export function showPage() {
  const { words, scene } = JSON.parse(document.getElementById("nbtf-scene").textContent);
  useWords(words);
  const main = document.querySelector(".nbtf-page");
  const ui = { changed: () => (frameDue ||= requestAnimationFrame(drawShown)) };
  const views = PAGE_VIEWS.filter(({ name }) => scene[name]);
  const panels = views.map((view) => pagePanel(view, scene[view.name], ui));
  const tabs = panels.map((panel, number) => pageTab(views[number], panel, () => show(number)));
  const row = h("div", { class: "nbtf-tabs", role: "tablist" }, tabs);
  let shown = 0;
  let frameDue = 0;
  const drawShown = () => {
    frameDue = 0;
    panels[shown].view.draw(main.clientWidth - 24);
  };
  const show = (number) => {
    shown = number;
    panels.forEach(({ root }, other) => (root.hidden = other !== number));
    tabs.forEach((tab, other) => attr(tab, "aria-selected", String(other === number)));
    drawShown();
  };
  row.hidden = tabs.length < 2;
  main.replaceChildren(h("div", { class: "nbtf-view" }, row, panels.map(({ root }) => root)));
  rove(row, '[role="tab"]')();
  show(0);
  new ResizeObserver(ui.changed).observe(main);
}

function pagePanel(view, data, ui) {
  const root = h("section", { id: `nbtf-panel-${view.name}`, role: "tabpanel", "aria-label": view.title() });
  return { root, view: view.create(root, data, ui) };
}

function pageTab(view, { root }, onclick) {
  return h("button", { type: "button", role: "tab", "aria-controls": root.id, onclick }, view.title());
}
