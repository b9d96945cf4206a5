// Shows a selected range of time: its area over a picture, and below it the sums of what happened in it.

import { h, put } from "./dom.js";
import { setBox } from "./drag_handle.js";
import { shortInCluster } from "./map_flows.js";
import { widthOf } from "./picture.js";
import { durationWords, sizeWords } from "./time_scale.js";
import { WORDS, fill, grouped } from "./words.js";

const MOST_RANGE_ROWS = 6;
const LABEL_SPACE = 20; // px beside the length of a range, for the handles

export class RangePanel {
  // `zoom` and `clear` are called by the buttons.
  constructor({ zoom, clear }) {
    const said = WORDS.timeline;
    this.area = h("div", { class: "nbtf-time-range", "aria-hidden": "true" }, h("span"));
    this.head = h("p", { class: "nbtf-range-head", role: "status" });
    const button = (label, onclick) => h("button", { type: "button", onclick }, label);
    this.body = h("div", { class: "nbtf-range-body" });
    this.panel = h(
      "section",
      { class: "nbtf-range", "aria-label": said.range, hidden: "" },
      h("div", { class: "nbtf-range-top" }, this.head, button(said.zoomToRange, zoom), button(said.clearRange, clear)),
      this.body,
    );
  }

  // Covers the part of the range that is in sight.
  place(range, { scale, rows }) {
    const isInSight = range && range.to >= scale.from && range.from <= scale.to;
    const [top, last] = [rows[0]?.y ?? 0, rows.at(-1)];
    const box = isInSight && [scale.inside(range.from), top - 8, scale.inside(range.to) - scale.inside(range.from), last ? last.y + last.height - top + 16 : 0];
    this.cover(range, box, range ? durationWords(range.to - range.from) : "", scale.end);
  }

  // Covers a box, [left, top, width, height] in px; nothing if no range is selected or none of it is in sight. Its length is
  // written between its handles, or beside them if there is no room; `end` is the right side of the picture.
  cover(range, box, length, end) {
    this.area.hidden = !range || !box;
    this.panel.hidden = !range;
    if (this.area.hidden) return;
    setBox(this.area, ...box);
    put(this.area.firstChild, length);
    const [left, , width] = box;
    const room = widthOf(length, 11, 600) + 2 * LABEL_SPACE;
    this.area.dataset.label = width >= room ? "inside" : left + width + room <= end ? "after" : "before";
  }

  // `sums` as from sumsOfRange; null while the kernel adds them up.
  show(range, sums) {
    const said = WORDS.timeline;
    const [seconds, from, to] = [range.to - range.from, range.from, range.to].map(durationWords);
    this.say(fill(said.rangeSpan, { seconds, from, to }));
    if (!sums) return this.body.replaceChildren(h("p", { class: "nbtf-note" }, said.rangeComing));
    const figures = [[grouped(sums.ops), said.rangeOps], [durationWords(sums.busy), said.rangeBusy], [grouped(sums.copies), said.rangeCopies], [sizeWords(sums.nbytes), said.rangeBytes]];
    const length = range.to - range.from;
    const byDevice = sums.devices.map(([name, ops, busy, copies, nbytes]) => [shortInCluster(name), busy / length, copies ? `${countsOf(ops, busy)} · ${fill(said.rangeCopied, { n: copies, nbytes: sizeWords(nbytes) })}` : countsOf(ops, busy)]);
    const byName = sums.names.map(([name, ops, busy]) => [name, sums.busy ? busy / sums.busy : 0, countsOf(ops, busy)]);
    this.showSums(figures, [[said.byDevice, byDevice.sort((a, b) => b[1] - a[1])], [said.byName, byName]]);
  }

  say(span) {
    put(this.head, span);
  }

  // `figures` are pairs of figure and label; `lists`, pairs of a title and rows of name, share and figures.
  showSums(figures, lists) {
    this.body.replaceChildren(
      h("dl", { class: "nbtf-range-figures" }, figures.map(([figure, label]) => h("div", null, h("dt", null, label), h("dd", null, figure)))),
      ...lists.map(([title, rows]) => listOf(title, rows)),
    );
  }
}

function countsOf(ops, busy) {
  return fill(WORDS.timeline.rangeRow, { n: ops, busy: durationWords(busy) });
}

// Rows of a name, the share that its bar shows, and figures.
function listOf(title, rows) {
  const row = ([name, share, figures]) => h("li", null, h("b", { title: name }, name), barOf(share), h("span", null, figures));
  const more = rows.length - MOST_RANGE_ROWS;
  const rest = more > 0 ? [h("li", { class: "nbtf-range-more" }, fill(WORDS.timeline.rangeMore, { n: more }))] : [];
  return h("div", { class: "nbtf-range-list" }, h("h4", null, title), h("ul", null, rows.slice(0, MOST_RANGE_ROWS).map(row), rest));
}

function barOf(share) {
  const bar = h("i", { "aria-hidden": "true" }, h("i"));
  bar.firstChild.style.width = `${Math.min(100, 100 * share)}%`;
  return bar;
}
