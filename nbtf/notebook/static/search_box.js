// The field in which a reader searches a timeline, and the buttons that go from match to match.

import { h } from "./dom.js";
import { matchNumber, searched } from "./timeline_search.js";
import { WORDS, fill } from "./words.js";

const SEARCH_AFTER = 150; // milliseconds without further typing

export class SearchBox {
  // `changed` requests a redraw; `go(way)` shows the next match in a direction.
  constructor({ changed, go }) {
    const said = WORDS.timeline;
    this.changed = changed;
    this.go = go;
    this.search = null; // see searched
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
    this.renew(this.scene);
    this.changed();
  }

  // Searches a scene.
  renew(scene) {
    this.scene = scene;
    if (this.search) Object.assign(this.search, searched(scene, this.search.text, WORDS.timeline));
  }

  // How many ops and copies match, and the number of the chosen one among them.
  words(chosen) {
    const { scene, search } = this;
    for (const button of this.buttons) button.hidden = !search;
    if (!search) return [];
    const said = WORDS.timeline;
    const at = matchNumber(search, chosen);
    const place = at < 0 ? [] : [fill(said.matchAt, { k: at + 1, n: search.matches.length })];
    const count = ({ ops, lanes }) => ops.start.length - (lanes[0]?.program ? lanes[0].last : 0); // the program's are those of the devices
    return [fill(said.fits, { n: count(search.scene), all: count(scene) }), ...place];
  }
}
