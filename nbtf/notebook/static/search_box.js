// The field in which a reader searches a timeline, and the buttons that go from match to match.

import { h } from "./dom.js";
import { isAt } from "./timeline_scene.js";
import { matchNumber, searched } from "./timeline_search.js";
import { WORDS, fill } from "./words.js";

const SEARCH_AFTER = 150; // milliseconds without further typing

export class SearchBox {
  // `changed` requests a redraw; `go(way)` shows the next match in a direction; `ask(question)` searches a long recording, null
  // without a kernel.
  constructor({ changed, go, ask }) {
    const said = WORDS.timeline;
    this.changed = changed;
    this.go = go;
    this.ask = ask;
    this.search = null; // see searched; `whole` is the kernel's last answer
    this.field = h("input", { class: "nbtf-time-filter", type: "search", placeholder: said.filter, "aria-label": said.filter, oninput: () => this.applySoon(), onkeydown: (event) => this.press(event) });
    const button = (label, title, way) => h("button", { type: "button", title, "aria-label": title, onclick: () => go(way) }, label);
    this.buttons = [button("‹", said.matchBefore, -1), button("›", said.matchAfter, 1)];
  }

  press(event) {
    event.stopPropagation();
    if (event.key === "Escape") this.clear();
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    this.apply();
    this.go(event.shiftKey ? -1 : 1);
  }

  applySoon() {
    clearTimeout(this.due);
    this.due = setTimeout(() => this.apply(), SEARCH_AFTER);
  }

  clear() {
    this.field.value = "";
    this.apply();
  }

  // Dims what does not match.
  apply() {
    clearTimeout(this.due);
    const text = this.field.value.trim();
    if (text === (this.search?.text ?? "")) return;
    this.search = text ? { text } : null;
    this.begin();
    this.changed();
  }

  // Whether a page has only a part of the recording, and a kernel that has all of it.
  get asksKernel() {
    return Boolean(this.scene.detail && this.ask);
  }

  // Requests a match in all of the recording: {lane, start, seconds, copy}, see views/timeline_search.py; null if there is none.
  async request({ way, after, moment = 0 }) {
    const { search, scene } = this;
    const whole = await this.ask({ what: "search", clock: scene.clock, text: search.text, words: WORDS.timeline, way, after, moment }).catch(() => null);
    if (!whole || this.search !== search || this.scene.clock !== scene.clock) return null;
    search.whole = whole;
    this.changed();
    return whole.at === undefined ? null : whole;
  }

  begin() {
    if (!this.search) return;
    Object.assign(this.search, searched(this.scene, this.search.text, WORDS.timeline), { whole: null });
    if (this.asksKernel) this.request({ way: 1 });
  }

  // Searches another scene, of which only the times may be more exact.
  renew(scene) {
    const isSame = this.scene?.clock === scene.clock;
    this.scene = scene;
    if (!isSame) this.begin();
    else if (this.search) Object.assign(this.search, searched(scene, this.search.text, WORDS.timeline));
  }

  // How many ops and copies match, and the number of the chosen one among them.
  words(chosen) {
    const { search } = this;
    for (const button of this.buttons) button.hidden = !search;
    if (!search || (this.asksKernel && !search.whole)) return [];
    const said = WORDS.timeline;
    const { fits, all, matches, at } = this.asksKernel ? this.inWhole(chosen) : this.inScene(chosen);
    return [fill(said.fits, { n: fits, all }), ...(at < 0 ? [] : [fill(said.matchAt, { k: at + 1, n: matches })])];
  }

  inWhole(chosen) {
    const { whole } = this.search;
    return { ...whole, at: isAt(this.scene, chosen, whole) ? whole.at : -1 };
  }

  inScene(chosen) {
    const { scene, search } = this;
    const count = ({ ops, lanes }) => ops.start.length - (lanes[0]?.program ? lanes[0].last : 0); // the program's are those of the devices
    return { fits: count(search.scene), all: count(scene), matches: search.matches.length, at: matchNumber(search, chosen) };
  }
}
