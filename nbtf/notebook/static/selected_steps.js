// A selected range of steps in a view of memory: its area over the picture, handles at its ends, and its sums below.

import { dragHandle, setBox, sliderAt } from "./drag_handle.js";
import { numberOf } from "./plane_picture.js";
import { RangePanel } from "./range_panel.js";
import { sizeInWords } from "./sizes.js";
import { sumsOfSteps } from "./step_range.js";
import { WORDS, fill } from "./words.js";

const STEP_HANDLE = 24; // px

export class SelectedSteps {
  // `view` is a view of memory; `act` changes its state.
  constructor(view) {
    this.view = view;
    this.panel = new RangePanel({ zoom: () => view.act((state) => view.zoom.toSelection(state)), clear: () => view.act((state) => state.select(null)) });
    this.handles = ["from", "to"].map((side) => this.handle(side));
    this.nodes = [this.panel.area, ...this.handles];
  }

  handle(side) {
    const { view } = this;
    const name = WORDS.timeline[side === "from" ? "rangeBegin" : "rangeEnd"];
    const limit = side === "from" ? (step) => Math.min(step, view.state.range.to) : (step) => Math.max(step, view.state.range.from);
    const move = (step) => view.act((state) => state.select({ ...state.range, [side]: limit(step) }));
    return dragHandle(name, () => view.state.range[side], () => view.state.stride(), move, (event) => view.stepAt(event), "nbtf-time-grip");
  }

  // Places area and handles in a picture, and shows the sums of the range.
  draw(history, range, { axis, curveTop, bottom, right: end }) {
    const isInSight = range && axis.x(range.to + 1) > axis.x(range.from);
    const [left, right] = range ? [axis.x(range.from), axis.x(range.to + 1)] : [0, 0];
    const counted = range && fill(WORDS.plane.rangeSteps, { n: range.to - range.from + 1 });
    this.panel.cover(range, isInSight && [left, curveTop, right - left, bottom - curveTop], counted, end);
    this.handles.forEach((handle, number) => {
      const step = range?.[number ? "to" : "from"];
      handle.hidden = !range || !axis.shows(step);
      if (handle.hidden) return;
      setBox(handle, (number ? right : left) - STEP_HANDLE / 2, curveTop - 4, STEP_HANDLE, STEP_HANDLE);
      sliderAt(handle, step, history.steps - 1, fill(WORDS.plane.rangeStep, numberOf(history, step)));
    });
    if (range && (this.drawn !== range || this.groups !== history.groups)) this.showSums(history, range);
    [this.drawn, this.groups] = [range, history.groups];
  }

  showSums(history, range) {
    const said = WORDS.plane;
    const sums = sumsOfSteps(history, range);
    const [from, to] = [range.from, range.to].map((step) => numberOf(history, step).i);
    const change = `${sums.change < 0 ? "−" : "+"}${sizeInWords(Math.abs(sums.change))}`;
    const counted = ({ count }) => fill(said.rangePieces, { n: count });
    this.panel.say(fill(said.rangeSpan, { from, to }));
    this.panel.showSums(
      [[sizeInWords(sums.most), said.rangeMost], [change, said.rangeChange], [sizeInWords(sums.allocated.bytes), `${said.rangeAllocated}, ${counted(sums.allocated)}`], [sizeInWords(sums.freed.bytes), `${said.rangeFreed}, ${counted(sums.freed)}`]],
      [[said.rangeGroups, sums.groups], [said.rangeLines, sums.lines]].map(([title, rows]) => [title, rows.map(([name, count, bytes]) => [name, sums.allocated.bytes ? bytes / sums.allocated.bytes : 0, `${sizeInWords(bytes)}, ${counted({ count })}`])]),
    );
  }
}
