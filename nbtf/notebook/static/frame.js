// The common parts of every view: badge, Table, Pause, replay, status line for screen readers, drawing at the browser's pace.
//
// Interface of a view. anywidget renders by calling `frame(context, view)`; `view` is an object
//   {kind: "map", title: "Device map",
//    create(root, ui),         builds its elements once in `root` (div.nbtf-body)
//    update(state, position),  changes them; position is null when live, else an index into state.steps
//    heard?(state),            receives every state that arrives, drawn or not
//    makeStrip?(toggle),       an element of 36 pixels for pages without panels, with update(state) and say(badge, kind)
//    tables(state),            returns [{caption, columns, rows, notes}], see table.js
//    say?(state, position, kind, badge), returns the sentence of the status line; kind and text of the badge are passed
//    dispose?()}               stops what create started
// Each rendering uses its own `Object.create(view)`, so `this.x` belongs to one element and two views do not interfere.
// `ui` is {chosen, changed(), docked(), go(i), open(), still(), width(), narrow()}: `chosen` is a plain object for the user's
// choices; `changed()` requests a redraw; `docked()` returns whether the view is in a panel; `go(i)` shows step i; `still()` is
// true with reduced motion; `width()` is "narrow" (below 640 px), "medium" or "wide" (from 880 px); `narrow()` returns whether
// it is "narrow". `open(device, times)` opens the recording of a cell at a device's work between two times in seconds; both
// are optional. For CSS, the root element has `data-width`, `data-mode` ("live" or "replay"), `data-dock` ("right" or "down",
// in a panel) and `data-strip` ("closed" or "open", without panels).
//
// Classes: .nbtf-view and .nbtf-map|.nbtf-memory (root), .nbtf-stale on it; .nbtf-head, .nbtf-title, .nbtf-badge
// [data-state=live|idle|stale|ended|paused|replay], .nbtf-total, .nbtf-scope, .nbtf-pause, .nbtf-table-button; .nbtf-replay with
// .nbtf-back, .nbtf-play, .nbtf-step, .nbtf-scrub, .nbtf-place, .nbtf-speed, .nbtf-live; .nbtf-line (the step as
// text); .nbtf-body (the view), .nbtf-tables with .nbtf-table; .nbtf-status (role=status, visually hidden).
// Device map: .nbtf-stage with .nbtf-picture and, over each room, .nbtf-room[data-device="GPU:0"][data-kind][data-now: a step
// is shown here] with .nbtf-door (button); it opens a .nbtf-room in .nbtf-opened-rooms with .nbtf-ops, .nbtf-op (.nbtf-op-name,
// .nbtf-times, .nbtf-why; [data-now], [data-failed]), .nbtf-mem (.nbtf-amount), .nbtf-send (copies as text), .nbtf-details;
// .nbtf-card-name, .nbtf-ghost; .nbtf-filter, .nbtf-count, .nbtf-row-step (.nbtf-what, .nbtf-where, .nbtf-reason, .nbtf-size,
// .nbtf-code; [aria-current] in the replay).
// Tests may define window.__nbtf = {} before the page loads: {draws, rev, wall, frames, gap: longest ms between frames}.

import { askerOf } from "./asker.js";
import { followStates } from "./difference.js";
import { dock, hasShell } from "./dock.js";
import { attr, clock, h, keepKeys, put } from "./dom.js";
import { openRecording } from "./opened.js";
import { replay } from "./replay.js";
import { storePicture } from "./stored_picture.js";
import { table } from "./table.js";
import { followTheme } from "./theme.js";
import { WORDS, fill, translated, useWords } from "./words.js";

const NARROW = 640;
const MEDIUM = 880;
const SAY_EVERY = 5000;
const TABLES_EVERY = 1000;
const ENDED = ["terminating", "dead", "restarting", "autorestarting", "unknown"]; // states of a kernel that sends nothing more

export function frame(context, kind) {
  const { model } = context;
  let words = wordsFor(model);
  let stop = start(context, kind, words);
  const renew = () => {
    const found = wordsFor(model);
    if (found?.lang === words?.lang) return;
    words = found;
    stop();
    stop = start(context, kind, words);
  };
  model.on("change:texts", renew);
  askForWords(model, words);
  return () => {
    model.off("change:texts", renew);
    stop();
  };
}

// The translation for the page's language, once it has arrived (see catalogue.py); undefined for English.
function wordsFor(model) {
  return model.get("texts")?.[languageAsked(model)] ?? null;
}

function languageAsked(model) {
  return model.get("state")?.lang || document.documentElement.lang || "en";
}

function askForWords(model, words) {
  const name = languageAsked(model);
  if (!words && !/^en\b/i.test(name)) send(model, { kind: "language", name });
}

function start({ model, el }, kind, words) {
  useWords(words);
  const view = Object.create(kind);
  const self = { model, el, view, held: null, tables: false, raf: 0, said: 0, tabled: 0, heardFrom: 0 };
  const motion = matchMedia("(prefers-reduced-motion: reduce)");
  self.latest = () => self.held || model.get("state") || {};
  self.dirty = () => (self.raf ||= requestAnimationFrame(() => draw(self)));
  self.player = replay(self.latest, self.dirty, () => motion.matches, askerOf(model));
  self.parts = build(self);
  attr(self.parts.root, "lang", words?.lang || "en");
  el.replaceChildren(self.parts.root);
  followTheme(self.parts.root);
  view.create(self.parts.body, {
    chosen: {}, changed: self.dirty, docked: () => Boolean(self.parts.root.dataset.dock), go: (i) => (self.player.stop(), self.player.go(i)), still: () => motion.matches,
    open: (device, times) => send(model, { kind: "open", device, times }),
    width: () => self.parts.root.dataset.width, narrow: () => self.parts.root.dataset.width === "narrow",
  });
  self.dock = dock({ model, el, root: self.parts.root, changed: () => (titled(self), self.dirty()), alone: () => shrink(self) });
  const unwatch = watch(self, motion);
  return () => {
    self.dock.stop();
    unwatch();
  };
}

// If no panel keeps the view in sight, it shrinks to a strip that opens the whole view.
function shrink(self) {
  const { parts, view } = self;
  if (!view.makeStrip) return;
  self.strip = view.makeStrip(() => {
    parts.root.dataset.strip = parts.root.dataset.strip === "open" ? "closed" : "open";
    self.dirty();
  });
  parts.root.dataset.strip = "closed";
  parts.root.prepend(self.strip);
  self.dirty();
}

// A view may have a shorter title for narrow places.
function titled({ view, parts }) {
  put(parts.title, (parts.root.dataset.dock && view.shortTitle) || view.title);
}

function build(self) {
  const said = WORDS.frame;
  const { view, player } = self;
  const badge = h("span", { class: "nbtf-badge" });
  const total = h("span", { class: "nbtf-total" });
  const pause = h("button", { type: "button", class: "nbtf-pause", "aria-pressed": "false", title: said.pauseHint, onclick: () => {
    self.held = self.held ? null : self.model.get("state");
    self.dirty();
  } }, said.pause);
  const tabular = h("button", { type: "button", class: "nbtf-table-button", "aria-pressed": "false", title: said.tableHint, onclick: () => {
    self.tables = !self.tables;
    self.tabled = 0;
    self.dirty();
  } }, said.table);
  const names = { all: said.all, here: said.hereOn, cell: said.thisCell };
  const scope = h("select", { class: "nbtf-scope", "aria-label": said.scope, title: said.scopeHint, onchange: () => {
    self.scope = scope.value;
    send(self.model, { kind: "scope", name: scope.value });
  } }, Object.entries(names).map(([value, name]) => h("option", { value }, name)));
  const open = h("button", { type: "button", class: "nbtf-open", title: WORDS.recording.openHint, onclick: () => send(self.model, { kind: "open" }) }, WORDS.recording.open);
  const body = h("div", { class: "nbtf-body" });
  const tables = h("div", { class: "nbtf-tables" });
  const status = h("span", { class: "nbtf-status", role: "status" });
  const title = h("span", { class: "nbtf-title" }, view.title);
  const head = h("div", { class: "nbtf-head" }, title, badge, total, scope, pause, tabular, open);
  const root = h("div", { class: `nbtf-view nbtf-${view.kind}`, role: "group", "aria-label": view.title, "data-width": "wide" },
    head, player.bar, player.line, player.stored, body, tables, status);
  keepKeys(root);
  return { root, title, badge, total, scope, pause, tabular, open, body, tables, status };
}

function watch(self, motion) {
  const { model, parts } = self;
  const fresh = () => {
    self.heardFrom = Date.now();
    self.kernel = watchKernel(self);
    self.view.heard?.(model.get("state") || {});
    self.dock.heard();
    self.dirty();
  };
  const drawn = (content) => content.kind === "drawn" && storePicture(self, content);
  const opened = (content) => content.kind === "opened" && openRecording({ model, el: self.el, root: parts.root }, content);
  // The first state may be an old, saved one, so its own clock counts. Later ones have just been sent.
  self.heardFrom = Math.min(Date.now(), (model.get("state")?.wall || 0) * 1000);
  if (model.get("state")?.devices) self.view.heard?.(model.get("state"));
  if (!hasShell() && !isStale(self)) self.dock.heard(); // show the strip from the first picture on
  const width = new ResizeObserver(() => {
    const across = parts.root.clientWidth;
    attr(parts.root, "data-width", across < NARROW ? "narrow" : across < MEDIUM ? "medium" : "wide");
    self.dirty();
  });
  const dog = setInterval(() => {
    showBadge(self);
    if (self.tableDue) self.dirty();
  }, 500);
  width.observe(parts.root);
  model.on("change:state", fresh);
  model.on("msg:custom", self.dock.heard);
  model.on("msg:custom", opened);
  model.on("msg:custom", drawn);
  document.addEventListener("visibilitychange", self.dirty);
  motion.addEventListener("change", self.dirty);
  const counted = countFrames();
  send(model, { kind: "view", n: 1, panels: hasShell() });
  self.dirty();
  return () => {
    clearInterval(dog);
    self.kernel?.stop();
    width.disconnect();
    cancelAnimationFrame(self.raf);
    self.player.stop();
    self.view.dispose?.();
    cancelAnimationFrame(self.raf);
    model.off("change:state", fresh);
    model.off("msg:custom", self.dock.heard);
    model.off("msg:custom", opened);
    model.off("msg:custom", drawn);
    document.removeEventListener("visibilitychange", self.dirty);
    motion.removeEventListener("change", self.dirty);
    counted();
    send(model, { kind: "view", n: -1 });
  };
}

function send(model, content) {
  try {
    model.send(content);
  } catch {
    // A saved view without a kernel has no recipient.
  }
}

function draw(self) {
  self.raf = 0;
  const { parts, player, view } = self;
  if (document.hidden || !parts.root.isConnected) return;
  const state = player.state || self.latest();
  player.draw();
  if (!state.devices) return void put(parts.total, WORDS.frame.waiting);
  attr(parts.root, "data-mode", player.position === null ? "live" : "replay");
  parts.body.hidden = self.tables;
  parts.tables.hidden = !self.tables;
  attr(parts.tabular, "aria-pressed", String(self.tables));
  attr(parts.pause, "aria-pressed", String(Boolean(self.held)));
  put(parts.total, events(state));
  showScope(self, state);
  if (self.strip) self.strip.update(self.latest());
  if (parts.root.dataset.strip !== "closed") {
    if (self.tables) showTables(self, state);
    else view.update(state, player.position);
  }
  showBadge(self);
  count(state);
}

function events(state) {
  const said = WORDS.frame;
  const count = state.heard ? fill(said.events, { n: state.heard }) : said.noEvents;
  return state.from ? `${translated("places", state.from)}${said.comma}${count}` : count;
}

// The reader's choice is kept until the kernel answers, which it does when its cell is over.
function showScope(self, state) {
  if (self.scope === state.scope) self.scope = null;
  self.parts.scope.value = self.scope ?? state.scope ?? "all";
}

function showTables(self, state) {
  const now = Date.now();
  self.tableDue = now - self.tabled < TABLES_EVERY;
  if (self.tableDue) return;
  self.tabled = now;
  self.parts.tables.replaceChildren(...self.view.tables(state).map(table));
}

function showBadge(self) {
  const { parts, player } = self;
  const newest = self.model.get("state") || {};
  const stale = isStale(self);
  const kind = stateOf(self, newest, stale);
  const time = clock((kind === "paused" ? self.held : newest).wall || 0);
  put(parts.badge, fill(WORDS.frame[kind], { time, device: newest.compiling }));
  attr(parts.badge, "data-state", kind);
  self.strip?.say(parts.badge.textContent, kind);
  parts.root.classList.toggle("nbtf-stale", stale && player.position === null);
  parts.scope.disabled = stale || Boolean(newest.ended) || player.position !== null;
  parts.open.disabled = stale || !newest.ops;
  speak(self, kind);
}

// Whether the state is one that no kernel updates, the kernel has ended, or so many heartbeats are missing that none can be connected.
function isStale(self) {
  const { hb, fixed } = self.model.get("state") || {};
  return fixed || self.kernel?.hasEnded() || Date.now() - self.heardFrom > (hb || 2) * 3000;
}

// Follows the kernel that sent a state, {hasEnded(), stop()}, on pages whose widget manager names it; null elsewhere.
function watchKernel(self) {
  const kernel = self.model.widget_manager?.kernel;
  if (!kernel?.statusChanged || (self.kernel?.of === kernel && !self.kernel.hasEnded())) return self.kernel ?? null;
  self.kernel?.stop();
  let ended = false;
  const follow = (_, status) => {
    ended ||= ENDED.includes(status);
    showBadge(self);
  };
  kernel.statusChanged.connect(follow);
  return { of: kernel, hasEnded: () => ended || kernel.isDisposed, stop: () => kernel.statusChanged.disconnect(follow) };
}

function stateOf(self, newest, stale) {
  if (self.player.position !== null) return "replay";
  if (newest.ended) return "ended";
  if (stale) return "stale";
  if (self.held) return "paused";
  if (newest.compiling) return "compiling";
  return newest.busy ? "live" : newest.refused?.length ? "full" : "idle";
}

function speak(self, kind) {
  const now = Date.now();
  if (now - self.said < SAY_EVERY) return;
  const state = self.player.state || self.latest();
  if (!state.devices) return;
  const { position, playing, line } = self.player;
  if (position !== null && !playing) return; // when stepping by hand, the line itself is announced
  const text = position === null ? summary(self, state, kind) : line.textContent;
  if (text !== self.parts.status.textContent) (put(self.parts.status, text), (self.said = now));
}

function summary({ view, parts, player }, state, kind) {
  const badge = parts.badge.textContent;
  return view.say?.(state, player.position, kind, badge) ?? fill(WORDS.frame.status, { title: view.title, badge, text: events(state) });
}

// Tests define window.__nbtf to count; there is no cost otherwise.
function count(state) {
  const hook = window.__nbtf;
  if (!hook) return;
  hook.draws = (hook.draws || 0) + 1;
  hook.rev = state.rev;
  hook.wall = state.wall;
}

function countFrames() {
  if (!window.__nbtf) return () => {};
  let before = performance.now();
  let id = requestAnimationFrame(function measure(now) {
    window.__nbtf.frames = (window.__nbtf.frames || 0) + 1;
    window.__nbtf.gap = Math.max(window.__nbtf.gap || 0, now - before);
    before = now;
    id = requestAnimationFrame(measure);
  });
  return () => cancelAnimationFrame(id);
}
