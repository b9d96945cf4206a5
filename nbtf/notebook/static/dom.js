// Creates and updates elements. Names of ops and tensors are data, so they reach the page only as text.

const SVG = "http://www.w3.org/2000/svg";

// h("button", {class: "x", onclick: f, "aria-pressed": "false"}, "text", child): an HTML element.
export function h(tag, attrs, ...children) {
  return furnish(document.createElement(tag), attrs, children);
}

// The same for SVG.
export function s(tag, attrs, ...children) {
  return furnish(document.createElementNS(SVG, tag), attrs, children);
}

function furnish(node, attrs, children) {
  for (const [name, value] of Object.entries(attrs || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else attr(node, name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

// Sets, changes or (null, undefined, false) removes an attribute; touches the page only when something changes.
export function attr(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

// Makes `text` the only content of a node; keeps the text node, so that a selection survives.
export function put(node, text) {
  const only = node.firstChild;
  if (only && only.nodeType === Node.TEXT_NODE && !only.nextSibling) {
    if (only.data !== text) only.data = text;
  } else node.textContent = text;
}

// A name that is unique in the page, even among names from other programs.
export function newName() {
  return `nbtf-${Math.random().toString(36).slice(2)}`;
}

const KEEPS_KEYS = "data-nbtf-keys";
const SUPPRESS = "data-lm-suppress-shortcuts"; // JupyterLab and Notebook 7 run no shortcut for keys pressed in such an element
const FOCUSABLE = "button, input, select, textarea, summary, a[href], [tabindex]";
const watchedWindows = new WeakSet();

// After a click into `root`, pressed keys belong to the view and not to the notebook, which could delete the cell or
// change its type and drop its output. The click moves the focus into `root`, and plain keys stay there.
export function keepKeys(root) {
  attr(root, KEEPS_KEYS, "");
  if (!root.hasAttribute("tabindex")) attr(root, "tabindex", "-1");
  root.addEventListener("pointerdown", takeFocus, true);
  root.addEventListener("keydown", (event) => isForNotebook(event) || event.stopPropagation());
  if (watchedWindows.has(window)) return root;
  watchedWindows.add(window);
  window.addEventListener("keydown", suppressShortcuts, true);
  return root;
}

// Shortcuts for saving, running a cell and the like still work from inside a view; in a search, Shift+Enter finds the previous match.
function isForNotebook(event) {
  return event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && event.key === "Enter" && event.target.type !== "search");
}

// Pressing a focusable element focuses it; pressing elsewhere focuses the nearest focusable parent. Browsers do the same,
// except where a drag begins, because its default action is prevented.
function takeFocus(event) {
  event.target.closest(FOCUSABLE)?.focus({ preventScroll: true });
}

// Notebook 7 handles keys before they reach the view, which therefore cannot stop them; the attribute on the focused element does.
function suppressShortcuts(event) {
  const [target] = event.composedPath(); // inside a shadow root, `event.target` is its host here
  if (target.closest?.(`[${KEEPS_KEYS}]`)) attr(target, SUPPRESS, isForNotebook(event) ? null : "true");
}

// The focus follows a mouse into `root`, to the nearest element that a selector matches, if no other part of the page has it. In a
// notebook, focus in an output would select the cell; there, it takes a click.
export function focusUnderMouse(root, selector) {
  root.addEventListener("pointermove", ({ pointerType, target, movementX, movementY }) => {
    const focused = focusedBeside(root);
    const isFree = focused === document.body || (focused?.closest(`[${KEEPS_KEYS}]`) && !root.contains(focused));
    if (pointerType === "mouse" && (movementX || movementY) && isFree) target.closest(selector)?.focus({ preventScroll: true });
  });
}

// The element with the focus, in the shadow root that contains `node`, otherwise in the page.
export function focusedBeside(node) {
  return node.getRootNode().activeElement ?? document.activeElement;
}

const KEPT = new WeakMap();

// Synchronizes the children of `parent` with `items`: one node per key, created once, moved only if the order changed.
export function keyed(parent, items, keyOf, make, update) {
  const before = KEPT.get(parent) || new Map();
  const now = new Map();
  for (const item of items) now.set(keyOf(item), item);
  for (const [key, node] of before) if (!now.has(key)) (node.remove(), before.delete(key));
  let next = parent.firstChild;
  for (const [key, item] of now) {
    let node = before.get(key);
    if (!node) before.set(key, (node = make(item)));
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
    update?.(node, item);
  }
  KEPT.set(parent, before);
}

// "24 B", "4,096 B", "1.5 MiB", "4.5 GiB": exact below 1 MiB, as in the tables of the magics; "–" if unknown.
export function bytes(n) {
  if (!(n >= 1 << 20)) return exact(n);
  const [size, unit] = n >= 2 ** 30 ? [n / 2 ** 30, "GiB"] : [n / 2 ** 20, "MiB"];
  return `${size.toFixed(size < 100 ? 1 : 0).replace(/\.0$/, "")} ${unit}`;
}

// "24 B", "1.25 KiB", "129 KiB": three digits, for narrow places.
export function rounded(n) {
  if (!(n >= 1024)) return exact(n);
  const [unit, scale] = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024]].find(([, least]) => n >= least);
  return `${+(n / scale).toPrecision(3)} ${unit}`;
}

// "4,844,421,120 B"; "–" if unknown.
export function exact(n) {
  return n === null || n === undefined || n < 0 ? "–" : `${Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",")} B`;
}

// "3 ns", "58 µs", "1.2 ms", "3 s".
export function seconds(n) {
  const [unit, scale] = n >= 1 ? ["s", 1] : n >= 1e-3 ? ["ms", 1e3] : n >= 1e-6 ? ["µs", 1e6] : ["ns", 1e9];
  const value = n * scale;
  return `${value >= 10 || value === 0 ? Math.round(value) : +value.toPrecision(2)} ${unit}`;
}

// "05:27:04" in the reader's time zone.
export function clock(wall) {
  const at = new Date(wall * 1000);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((n) => String(n).padStart(2, "0")).join(":");
}

// One tab stop for many elements: arrow keys, Home and End move among those that match. Call the returned function after
// each update, so that one of them can always be reached.
export function rove(container, selector) {
  const all = () => [...container.querySelectorAll(selector)].filter((one) => one.getClientRects().length);
  const stop = (chosen) => {
    for (const one of container.querySelectorAll(selector)) attr(one, "tabindex", one === chosen ? "0" : "-1");
  };
  container.addEventListener("focusin", (event) => {
    const chosen = event.target.closest(selector);
    if (chosen) stop(chosen);
  });
  container.addEventListener("keydown", (event) => {
    const from = event.target.closest(selector);
    const found = from ? all() : [];
    const to = destination(event.key, found, found.indexOf(from));
    if (!to) return;
    event.preventDefault();
    to.focus();
  });
  return () => {
    if (!container.querySelector(`${selector}[tabindex="0"]`)) stop(container.querySelector(selector));
  };
}

function destination(key, found, at) {
  if (key === "ArrowRight" || key === "ArrowDown") return found[at + 1];
  if (key === "ArrowLeft" || key === "ArrowUp") return found[at - 1];
  if (key === "Home") return found[0];
  return key === "End" ? found[found.length - 1] : undefined;
}
