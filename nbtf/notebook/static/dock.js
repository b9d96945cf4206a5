// Where does a view stay in sight while cells run? In a panel of the page's shell, where the page has one.
//
// JupyterLab, Notebook 7 and JupyterLite have a Lumino shell: the topmost parent of the output's own widget. A notebook has one
// panel there, for all its views; the output of a view keeps a line that says where it went, and gets it back when the panel
// is closed. Other pages have no panels (VS Code, Colab): there a view makes itself small, and follows the cell that runs. For a
// view that no kernel feeds nothing happens: what is saved in a file stays in its cell.

import { h, keepKeys, s } from "./dom.js";
import { WORDS } from "./words.js";

const WIDE_WINDOW = 1200; // pixels of a window that has room for a panel beside the notebook
const FIRST_EXTENT = { right: 380, down: 264 }; // pixels that a panel begins with
const LARGEST_SHARE = 0.45; // of the window, at most

// Whether the page has a shell, as every program made of Lumino has: JupyterLab, Notebook 7, JupyterLite.
export function hasShell() {
  return Boolean(document.getElementById("main")?.classList.contains("lm-Widget"));
}

// Returns {heard, stop}: `heard()` says that a kernel feeds the view, which then moves; `stop()` undoes everything.
// `changed(area)` is told where the view stands: "right", "down", or null for its cell; `alone()` that there are no panels.
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
  if (shell && !self.stopped && !self.el.closest(".nbtf-panel")) enter(self, shell);
}

// {shell, Widget: the class of all its widgets, notebook: the one that holds the view}; null where there is no shell.
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

// The panel of a notebook: made for its first view, gone with the last one. Each view's program finds it in the page.
function panelOf({ shell, Widget, notebook }) {
  const id = `nbtf-panel-${notebook.id}`;
  return document.getElementById(id)?.nbtfPanel ?? makePanel(shell, new Widget(), notebook, id);
}

function makePanel(shell, widget, notebook, id) {
  const area = window.innerWidth < WIDE_WINDOW ? "down" : "right";
  const members = new Set();
  widget.id = id;
  widget.addClass("nbtf-panel");
  widget.title.label = area === "right" ? "" : "nbtf";
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
    const first = isMap(member); // the devices stand above their memory, and once: an older view of them goes back to its cell
    const older = first ? [...members].filter(isMap) : [];
    members.add(member);
    older.forEach((map) => map.leave());
    widget.node[first ? "prepend" : "append"](member.root);
  };
  widget.onCloseRequest = leaveAll; // by default a panel that is closed is taken out of the page, and lives on
  notebook.disposed.connect(leaveAll);
  shell.currentChanged.connect(follow);
  widget.node.nbtfPanel = { area, add, remove };
  shell.add(widget, area, { rank: 900 });
  shell.activateById(id);
  if (area === "right") shell.expandRight?.(id);
  requestAnimationFrame(() => widen(widget, area));
  return widget.node.nbtfPanel;
}

// Rooms of devices.
function sign() {
  return s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: "M1 2h14v4H1zM1 8h6v6H1zM9 8h6v6H9z" }));
}

// A side panel begins 250 pixels wide, and a lower one with a share of the height: what it is given comes from the largest.
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
