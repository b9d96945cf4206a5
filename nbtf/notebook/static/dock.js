// Keeps a view in sight while cells run: in a panel of the page's shell, if the page has one.
//
// JupyterLab, Notebook 7 and JupyterLite have a Lumino shell: the topmost parent of the output's own widget. In it, a
// notebook has one panel for all its views. A view's output keeps a line that says where the view is; closing the panel
// returns the view to its output. On pages without panels (VS Code, Colab), a view shrinks and follows the running cell.
// A view without a kernel stays in its cell.

import { h, keepKeys, s } from "./dom.js";
import { WORDS } from "./words.js";

const WIDE_WINDOW = 1200; // pixels of a window that is wide enough for a panel beside the notebook
const FIRST_EXTENT = { right: 380, down: 264 }; // initial size of a panel in pixels
const LARGEST_SHARE = 0.45; // maximum share of the window

// Whether the page has a shell. All Lumino applications have one: JupyterLab, Notebook 7, JupyterLite.
export function hasShell() {
  return Boolean(document.getElementById("main")?.classList.contains("lm-Widget"));
}

// Returns {heard, stop}: call `heard()` when a kernel updates the view, which then moves; `stop()` undoes everything.
// `changed(area)` receives the view's new place: "right", "down", or null for its cell. `alone()` is called if there are no panels.
export function dock({ model, el, root, changed, alone }) {
  const self = { model, el, root, changed, alone, asked: false, stopped: false, leave: null };
  const heard = () => {
    if (self.asked || !model.get("docked")) return;
    self.asked = true;
    if (hasShell()) move(self);
    else self.alone();
  };
  const stop = () => {
    self.stopped = true;
    self.leave?.();
  };
  return { heard, stop };
}

async function move(self) {
  const shell = await findShell(self.model, self.el);
  if (self.stopped || self.el.closest(".nbtf-panel")) return;
  if (shell) enter(self, shell);
  else self.asked = false; // JupyterLab may not have attached the output yet: the next update tries again
}

// {shell, Widget: the common class of its widgets, notebook: the one that contains the view}; null if there is no shell.
export async function findShell(model, el) {
  try {
    const { views } = await model.widget_manager.get_model(model.get("ident"));
    for (const promise of Object.values(views || {})) {
      const output = (await promise).luminoWidget;
      if (output?.node.contains(el)) return shellAbove(output);
    }
  } catch (error) {
    console.debug("nbtf: this page has no shell for a panel", error);
  }
  return null;
}

function shellAbove(output) {
  let [top, notebook] = [output, null];
  for (; top.parent; top = top.parent) if (top.context?.path) notebook = top;
  if (typeof top.add !== "function" || !top.currentChanged || !notebook) return null;
  let Widget = output.constructor;
  while (Object.getPrototypeOf(Widget).prototype) Widget = Object.getPrototypeOf(Widget);
  return { shell: top, Widget, notebook };
}

function enter(self, found) {
  const { el, root } = self;
  const panel = panelOf(found);
  const back = h("button", { type: "button", class: "nbtf-here", onclick: () => (self.leave(), root.focus()) }, WORDS.dock.here);
  const note = keepKeys(h("p", { class: "nbtf-elsewhere" }, WORDS.dock[panel.area], " ", back));
  root.dataset.dock = panel.area;
  el.append(note);
  self.leave = () => {
    self.leave = null;
    panel.remove(self);
    note.remove();
    delete root.dataset.dock;
    if (self.stopped) root.remove();
    else el.append(root);
    self.changed(null);
  };
  panel.add(self);
  self.changed(panel.area);
}

// The panel of a notebook, created for its first view and removed with the last. The views' programs find it in the page.
function panelOf({ shell, Widget, notebook }) {
  const id = `nbtf-panel-${notebook.id}`;
  return document.getElementById(id)?.nbtfPanel ?? makePanel(shell, new Widget(), notebook, id);
}

function makePanel(shell, widget, notebook, id) {
  const area = window.innerWidth < WIDE_WINDOW ? "down" : "right";
  const members = new Set();
  widget.id = id;
  widget.addClass("nbtf-panel");
  widget.title.label = notebook.title.label.replace(/\.ipynb$/, ""); // tells the panels of several notebooks apart
  widget.title.caption = `nbtf: ${notebook.title.label}`;
  widget.title.iconClass = "nbtf-tab";
  widget.title.icon = { render: (node) => node.replaceChildren(sign()), unrender: (node) => node.replaceChildren() };
  widget.title.closable = true;
  const leaveAll = () => [...members].forEach((member) => member.leave?.());
  const follow = (_, change) => {
    if (change?.newValue === notebook && widget.isAttached && !widget.isVisible) shell.activateById(id);
  };
  const remove = (member) => {
    members.delete(member);
    if (members.size || widget.isDisposed) return;
    shell.currentChanged.disconnect(follow);
    widget.dispose();
    if (area === "right" && !document.querySelector(".nbtf-panel")) shell.collapseRight?.();
  };
  const add = (member) => {
    const isMap = ({ root }) => root.classList.contains("nbtf-map");
    const first = isMap(member); // devices are listed above their memory, and only once: an older view of them returns to its cell
    const older = first ? [...members].filter(isMap) : [];
    members.add(member);
    older.forEach((map) => map.leave());
    widget.node[first ? "prepend" : "append"](member.root);
  };
  widget.onCloseRequest = leaveAll; // by default, closing a panel only removes it from the page
  notebook.disposed.connect(leaveAll);
  shell.currentChanged.connect(follow);
  widget.node.nbtfPanel = { area, add, remove };
  shell.add(widget, area, { rank: 900 });
  shell.activateById(id);
  if (area === "right") shell.expandRight?.(id);
  requestAnimationFrame(() => widen(widget, area));
  return widget.node.nbtfPanel;
}

// The panel's icon: devices.
function sign() {
  return s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: "M1 2h14v4H1zM1 8h6v6H1zM9 8h6v6H9z" }));
}

// Enlarges a panel at the expense of the largest one: initially, side panels have 250 pixels, lower ones a share of the height.
function widen(widget, area) {
  const across = area === "right";
  let [part, split] = [widget, widget.parent];
  while (split && !(split.setRelativeSizes && (split.orientation === "horizontal") === across)) [part, split] = [split, split.parent];
  if (!split) return;
  const pixels = (node) => (across ? node.offsetWidth : node.offsetHeight);
  const sizes = split.widgets.map((each) => (each.isHidden ? 0 : pixels(each.node)));
  const extent = Math.min(FIRST_EXTENT[area], LARGEST_SHARE * pixels(split.node));
  const index = split.widgets.indexOf(part);
  if (sizes[index] >= extent) return;
  const largest = sizes.indexOf(Math.max(...sizes.filter((_, other) => other !== index)));
  sizes[largest] -= extent - sizes[index];
  sizes[index] = extent;
  split.setRelativeSizes(sizes);
}
