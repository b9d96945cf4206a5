// The range of time that a reader has selected in a timeline: its ends, which can be dragged, and its sums.

import { dragHandle, setBox, sliderAt } from "./drag_handle.js";
import { RangePanel } from "./range_panel.js";
import { durationWords } from "./time_scale.js";
import { sumsOfRange } from "./timeline_range.js";
import { WORDS } from "./words.js";

export const HANDLE_WIDTH = 24; // px
const SUM_AFTER = 100; // milliseconds, so that a drag sends one request

export class TimeRange {
  // `step()` is how far an arrow key moves an end, `momentAt(event)` the moment of a pointer, `zoom` is called by the panel's
  // button, and `ask(question)` fetches the sums of a long recording; null without a kernel.
  constructor({ changed, step, momentAt, zoom, ask }) {
    this.changed = changed;
    this.ask = ask;
    this.panel = new RangePanel({ zoom, clear: () => this.select(null) });
    this.handles = ["from", "to"].map((side) => this.handle(side, step, momentAt));
    this.span = null;
  }

  handle(side, step, momentAt) {
    const name = WORDS.timeline[side === "from" ? "rangeBegin" : "rangeEnd"];
    const limited = (moment) => (side === "from" ? Math.min(moment, this.span.to) : Math.max(moment, this.span.from));
    const move = (moment) => this.select({ ...this.span, [side]: limited(this.window.inside(moment)) });
    return dragHandle(name, () => this.span[side], step, move, momentAt, "nbtf-time-grip");
  }

  // Begins anew on a scene, seen through a window.
  reset(scene, window) {
    this.window = window;
    this.span = null;
    this.renew(scene);
  }

  // Takes over more exact data of the same recording.
  renew(scene) {
    this.scene = scene;
  }

  // Selects a range, whose ends may be in any order; null clears it.
  select(span) {
    this.span = span && { from: Math.min(span.from, span.to), to: Math.max(span.from, span.to) };
    this.sums = null;
    this.changed();
  }

  extend(seconds) {
    const { from, to } = this.span;
    this.select({ from, to: Math.max(from, this.window.inside(to + seconds)) });
  }

  place(parts) {
    const { span, window } = this;
    this.panel.place(span, parts);
    this.handles.forEach((handle, number) => {
      const value = span?.[number ? "to" : "from"];
      handle.hidden = !span || !window.has(value);
      if (handle.hidden) return;
      setBox(handle, parts.scale.inside(value) - HANDLE_WIDTH / 2, parts.rows[0].y - 30, HANDLE_WIDTH, 24);
      sliderAt(handle, value, this.scene.seconds, durationWords(value));
    });
    if (span && this.sums === null) this.sumUp(span);
  }

  // The page lacks ops of a long recording: the kernel adds them up.
  sumUp(span) {
    const { clock, detail } = this.scene;
    this.sums = detail ? undefined : sumsOfRange(this.scene, span);
    this.panel.show(span, this.sums);
    if (this.sums || !this.ask) return;
    clearTimeout(this.sumDue);
    this.sumDue = setTimeout(() => {
      this.ask({ what: "range", clock, ...span }).then((sums) => this.span === span && this.panel.show(span, sums), () => {});
    }, SUM_AFTER);
  }
}
