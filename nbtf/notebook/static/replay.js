// Replays the recorded steps at reading speed: play, step, back, scrub.
//
// A replay works on one state, held from the first press on, so neither new states nor a missing kernel disturb it. A state
// contains only the last steps. A connected kernel sends others in windows of several hundred, see step_windows.py. The held
// state then has their steps, with the rest of the answer in `window`. Positions count from the first held step.

import { attr, bytes, clock, h, put, seconds } from "./dom.js";
import { followMoments, shareMoment } from "./moment.js";
import { WORDS, fill, translated } from "./words.js";

const PLACES = new WeakMap();
const LAST_STEP = 2 ** 40; // beyond any step

// Step `i` of a state as an object: {kind, seq, ms, op, device, target, why, code, out, nbytes, ...}; missing texts are "".
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

// The name of an op: its type, or the name of its node in a graph followed by its type.
export function opName(step) {
  return step.node && step.kind !== 1 ? `${step.node} (${step.op})` : step.op;
}

// The cell of a step: {name, first, last}, indices into state.steps. Without known cells, one nameless cell.
export function cellOf(state, i) {
  return cellsOf(state).findLast((cell) => cell.first <= i) || { name: "", first: 0, last: state.steps.length - 1 };
}

// Which of all steps a state contains: {begin, count, cut: whether earlier steps are no longer kept}.
export function windowOf(state) {
  return state.window ?? { begin: 0, count: state.steps?.length || 0, cut: Boolean(state.cut) };
}

// Whether a cell began before the first available step.
export function isCut(state, cell) {
  const { begin, cut } = windowOf(state);
  return cut && cell.first + begin === 0;
}

// Bytes of a device at a step of a window, [in use, pool]; null if unknown.
export function levelAt(state, name, position) {
  const level = (state.window.levels[name] ?? []).findLast(([step]) => step <= position);
  return level && level[1] >= 0 ? level.slice(1) : null;
}

function cellsOf(state) {
  if (state.window) return cellsOfWindow(state.window);
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

function cellsOfWindow({ begin, count, cells }) {
  const starts = cells.length && cells[0][0] === 0 ? cells : [[0, ""], ...cells];
  return starts.map(([first, name], k) => ({ name, first: first - begin, last: (starts[k + 1]?.[0] ?? count) - 1 - begin }));
}

// A sentence about a step: where it ran, why, its result, its line.
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

// The replay bar and its state. `latest()` returns the newest state, `changed()` requests a redraw, `still()` returns whether
// the reader prefers reduced motion, `asker` sends questions to the kernel (see asker.js). Without a replay, `position` and
// `state` are null; `wanted` is the number of a requested step.
export function replay(latest, changed, still, asker) {
  const player = { position: null, state: null, wanted: null, asking: false, timer: 0, speed: 1, playing: false, isLive: asker.live };
  const go = (i) => {
    const begins = !player.state;
    player.state = player.state || latest();
    const { begin, count } = windowOf(player.state);
    if (!count) return live();
    const step = Math.max(0, Math.min(count - 1, begin + i));
    const here = step >= begin && step < begin + player.state.steps.length;
    player.wanted = here ? null : step;
    if (here) player.position = step - begin;
    if (begins || !here) ask(begins);
    share();
    changed();
  };
  // The recordings in the page follow the replay.
  const share = () => player.position !== null && shareMoment(player.bar, readStep(player.state, player.position).seq);
  // Without a kernel, unavailable steps stay unavailable.
  const ask = (begins) => {
    if (player.asking || !asker.live()) return;
    player.asking = true;
    const { state } = player;
    const question = { what: "steps", step: player.wanted ?? LAST_STEP, until: begins ? null : state.window?.until ?? null };
    asker.ask(question).then((window) => player.state === state && take(window), () => {}).finally(() => {
      player.asking = false;
      if (player.wanted !== null && player.state !== state) ask(false);
    });
  };
  const take = ({ steps, words, ...window }) => {
    const { until } = player.state.window ?? window;
    if (until !== window.until) return (player.wanted = null), changed(); // the answer is about a different recording: keep the current steps
    const state = { ...player.state, steps, words, window };
    const from = player.fromStart ? cellsOf(state).at(-1).first : null;
    const step = player.wanted ?? (from === null ? null : from + window.begin);
    const { seq } = readStep(player.state, player.position ?? 0);
    const at = step === null ? steps.findIndex((row) => row[state.columns.indexOf("seq")] === seq) : step - window.begin;
    player.fromStart = false;
    if (step !== null) player.wanted = Math.min(step, window.count - 1);
    if (at < 0 && step === null) return; // the step no longer exists
    player.state = state;
    if (at >= 0 && at < steps.length) [player.position, player.wanted] = [at, null];
    else player.position = Math.max(0, Math.min(steps.length - 1, at));
    share();
    changed();
  };
  const stop = () => {
    clearTimeout(player.timer);
    player.playing = false;
    changed();
  };
  const live = () => {
    player.state = player.position = player.wanted = null;
    stop();
  };
  const start = () => {
    player.fromStart = true;
    return cellOf(latest(), latest().steps.length - 1).first;
  };
  const move = (by) => {
    stop();
    go(player.position === null ? (by > 0 ? start() : latest().steps.length - 1) : player.position + by);
  };
  const isLast = () => player.position + windowOf(player.state).begin >= windowOf(player.state).count - 1;
  const tick = () => {
    if (isLast()) return stop();
    if (player.wanted === null) go(player.position + 1);
    player.timer = setTimeout(tick, 1000 / player.speed);
  };
  const play = () => {
    if (player.playing) return stop();
    const ended = player.position === null || isLast();
    go(ended ? (player.state ? cellOf(player.state, player.position).first : start()) : player.position + 1);
    player.playing = true;
    player.timer = setTimeout(tick, 1000 / player.speed);
  };
  // A replay follows the recordings in the page, but a live view stays live.
  const follow = (seq) => {
    if (player.position === null) return;
    const at = player.state.steps.findLastIndex((row) => row[player.state.columns.indexOf("seq")] <= seq);
    if (at < 0 || at === player.position) return;
    stop();
    player.position = at;
    changed();
  };
  Object.assign(player, { go, live, stop, ...replayBar(player, { go, live, move, play, latest, still, stop }) });
  followMoments(player.bar, follow);
  return player;
}

function replayBar(player, act) {
  const said = WORDS.replay;
  const button = (name, hint, press) => h("button", { type: "button", class: `nbtf-${name}`, title: hint, onclick: press }, said[name]);
  const play = button("play", null, act.play);
  const back = button("back", null, () => act.move(-1));
  const step = button("step", null, () => act.move(1));
  const live = button("live", said.liveHint, act.live);
  const scrub = h("input", { type: "range", class: "nbtf-scrub", min: 0, "aria-label": said.scrub, oninput: () => (act.stop(), act.go(+scrub.value - windowOf(player.state || act.latest()).begin)) });
  const place = h("span", { class: "nbtf-place" });
  const speed = h("select", { class: "nbtf-speed", "aria-label": said.speed, onchange: () => (player.speed = +speed.value) },
    [0.5, 1, 2, 4].map((x) => h("option", { value: x, ...(x === 1 && { selected: "" }) }, `${x} ×`)));
  const line = h("p", { class: "nbtf-line", "aria-live": "polite" });
  const stored = h("p", { class: "nbtf-note nbtf-stored", hidden: "" });
  const bar = h("div", { class: "nbtf-replay", role: "group", "aria-label": said.label },
    back, play, step, scrub, place, speed, live);
  const draw = () => {
    const state = player.state || act.latest();
    const { begin, count } = windowOf(state);
    const at = player.position;
    for (const one of [play, back, step, scrub]) one.disabled = !count;
    live.disabled = at === null;
    play.hidden = speed.hidden = act.still();
    put(play, player.playing ? said.hold : said.play);
    attr(play, "data-playing", player.playing ? "" : null);
    attr(scrub, "max", Math.max(0, count - 1));
    scrub.value = player.wanted ?? (at === null ? count - 1 : begin + at);
    put(place, placeOf(state, at, count));
    attr(line, "aria-live", player.playing ? "off" : "polite");
    put(line, at === null ? (!count ? said.noSteps : act.still() ? said.hintStill : said.hint) : lineOf(state, at));
    const amount = count ? storedWords(state, at, player.isLive()) : "";
    stored.hidden = !amount;
    put(stored, amount);
  };
  return { bar, line, stored, draw };
}

// The step's number makes each line differ from the previous one, so that screen readers announce it.
function lineOf(state, at) {
  return fill(WORDS.replay.line, { i: at - cellOf(state, at).first + 1, text: tellStep(state, at) });
}

// How much can be replayed, unless it is everything.
function storedWords(state, at, isLive) {
  const said = WORDS.replay;
  const { count, cut } = windowOf(state);
  const parts = [];
  if (state.window && state.steps.length < count) parts.push(fill(said.stored, { m: state.steps.length, n: count }));
  if (state.window && cut) parts.push(fill(said.since, { time: clock(state.since + state.window.known / 1000) }));
  if (!state.window && cut && (at !== null || !isLive)) parts.push(fill(said.lastAlone, { n: count }));
  return parts.join(" ");
}

function placeOf(state, at, count) {
  const said = WORDS.replay;
  if (at === null) return count ? fill(said.allKept, { n: count }) : "";
  const cell = cellOf(state, at);
  const of = fill(isCut(state, cell) ? said.ofLast : said.ofAll, { i: at - cell.first + 1, n: cell.last - cell.first + 1 });
  return cell.name ? fill(said.placeInCell, { cell: translated("places", cell.name), place: of }) : of;
}
