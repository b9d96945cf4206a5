// The recorded steps again, at reading speed: play, step, back, scrub.
//
// Works on one state that it holds from the first press on, so that neither new states nor a missing kernel disturb it.

import { attr, bytes, h, put, seconds } from "./dom.js";
import { WORDS, fill, translated } from "./words.js";

const PLACES = new WeakMap();
export const MOST_STEPS = 200; // a state has no more: see steps.py

// Step `i` of a state as an object: {kind, seq, ms, op, device, target, why, code, out, nbytes, ...}; texts are "" for none.
export function readStep(state, i) {
  if (!PLACES.has(state)) PLACES.set(state, new Map(state.columns.map((name, at) => [name, at])));
  const places = PLACES.get(state);
  const row = state.steps[i];
  const of = (name) => row[places.get(name)];
  const text = (name) => state.words[of(name)] ?? "";
  return {
    kind: of("kind"), seq: of("seq"), ms: of("ms"), nbytes: of("nbytes"), in_use: of("in_use"), pool: of("pool"),
    seconds: of("seconds"), modelled: of("modelled"), op: text("op"), device: text("device"), target: text("target"),
    why: text("why"), code: text("code"), out: text("out"), node: text("node"),
  };
}

// What an op is called: by its type, or by the name of its node in a graph and then its type.
export function opName(step) {
  return step.node && step.kind !== 1 ? `${step.node} (${step.op})` : step.op;
}

// The cell a step belongs to: {name, first, last}, indices into state.steps. One nameless cell where none is known.
export function cellOf(state, i) {
  return cellsOf(state).findLast((cell) => cell.first <= i) || { name: "", first: 0, last: state.steps.length - 1 };
}

function cellsOf(state) {
  const at = state.columns.indexOf("seq");
  const found = [];
  for (const [seq, name] of state.cells || []) {
    const first = state.steps.findIndex((row) => row[at] >= seq);
    if (first >= 0) found.push({ name, first });
  }
  if (!found.length || found[0].first > 0) found.unshift({ name: "", first: 0 });
  const ends = found.map((cell, k) => ({ ...cell, last: (found[k + 1]?.first ?? state.steps.length) - 1 }));
  return ends.filter((cell) => cell.first <= cell.last);
}

// What a step was, in a sentence: where, why, what came out, which line.
export function tellStep(state, i) {
  const step = readStep(state, i);
  const said = WORDS.replay;
  const values = { ...step, why: translated("reasons", step.why), nbytes: bytes(step.nbytes) };
  const [plain, explained] = {
    0: [said.ranUnexplained, said.ran], 1: [said.copied, said.copiedWhy], 2: [said.failedUnexplained, said.failed],
  }[step.kind];
  const parts = [fill(step.why ? explained : plain, values)];
  if (step.out) parts.push(step.out);
  if (step.seconds > 0) parts.push(fill(step.modelled ? said.modelled : said.seconds, { seconds: seconds(step.seconds) }));
  if (step.code) parts.push(translated("places", step.code));
  return parts.join(" · ");
}

// The bar and what it shows. `latest()` gives the newest state, `changed()` asks for a redraw, `still()` tells whether
// motion is unwelcome. `position` is null and `state` too while nothing is replayed.
export function replay(latest, changed, still) {
  const player = { position: null, state: null, timer: 0, speed: 1, playing: false };
  const go = (i) => {
    player.state = player.state || latest();
    const last = player.state.steps.length - 1;
    if (last < 0) return live();
    player.position = Math.max(0, Math.min(last, i));
    changed();
  };
  const stop = () => {
    clearTimeout(player.timer);
    player.playing = false;
    changed();
  };
  const live = () => {
    player.state = player.position = null;
    stop();
  };
  const start = () => cellOf(latest(), latest().steps.length - 1).first;
  const move = (by) => (stop(), go(player.position === null ? (by > 0 ? start() : latest().steps.length - 1) : player.position + by));
  const tick = () => {
    if (player.position >= player.state.steps.length - 1) return stop();
    go(player.position + 1);
    player.timer = setTimeout(tick, 1000 / player.speed);
  };
  const play = () => {
    if (player.playing) return stop();
    const ended = player.position === null || player.position >= player.state.steps.length - 1;
    go(ended ? (player.state ? cellOf(player.state, player.position).first : start()) : player.position + 1);
    player.playing = true;
    player.timer = setTimeout(tick, 1000 / player.speed);
  };
  return Object.assign(player, { go, live, stop, ...replayBar(player, { go, live, move, play, latest, still, stop }) });
}

function replayBar(player, act) {
  const said = WORDS.replay;
  const button = (name, hint, press) => h("button", { type: "button", class: `nbtf-${name}`, title: hint, onclick: press }, said[name]);
  const play = button("play", null, act.play);
  const back = button("back", null, () => act.move(-1));
  const step = button("step", null, () => act.move(1));
  const live = button("live", said.liveHint, act.live);
  const scrub = h("input", { type: "range", class: "nbtf-scrub", min: 0, "aria-label": said.scrub, oninput: () => (act.stop(), act.go(+scrub.value)) });
  const place = h("span", { class: "nbtf-place" });
  const speed = h("select", { class: "nbtf-speed", "aria-label": said.speed, onchange: () => (player.speed = +speed.value) },
    [0.5, 1, 2, 4].map((x) => h("option", { value: x, ...(x === 1 && { selected: "" }) }, `${x} ×`)));
  const line = h("p", { class: "nbtf-line", "aria-live": "polite" });
  const bar = h("div", { class: "nbtf-replay", role: "group", "aria-label": said.label },
    back, play, step, scrub, place, speed, live);
  const draw = () => {
    const state = player.state || act.latest();
    const count = state.steps?.length || 0;
    const at = player.position;
    for (const one of [play, back, step, scrub]) one.disabled = !count;
    live.disabled = at === null;
    play.hidden = speed.hidden = act.still();
    put(play, player.playing ? said.hold : said.play);
    attr(scrub, "max", Math.max(0, count - 1));
    scrub.value = at ?? count - 1;
    put(place, placeOf(state, at, count));
    attr(line, "aria-live", player.playing ? "off" : "polite");
    put(line, at === null ? (!count ? said.noSteps : act.still() ? said.hintStill : said.hint) : lineOf(state, at));
  };
  return { bar, line, draw };
}

// The number makes each step's line differ from the one before, so that it is read out again.
function lineOf(state, at) {
  return fill(WORDS.replay.line, { i: at - cellOf(state, at).first + 1, told: tellStep(state, at) });
}

function placeOf(state, at, count) {
  const said = WORDS.replay;
  if (at === null) return count ? fill(count === 1 ? said.oneKept : said.allKept, { n: count }) : "";
  const cell = cellOf(state, at);
  const cut = cell.first === 0 && count >= MOST_STEPS;
  const of = fill(cut ? said.ofLast : said.ofAll, { i: at - cell.first + 1, n: cell.last - cell.first + 1 });
  return cell.name ? fill(said.placeInCell, { cell: translated("places", cell.name), place: of }) : of;
}
