// The part of a recording's time that is in sight.

export const LEAST_WINDOW = 1e-9; // seconds

export class TimeWindow {
  // All of `seconds`; `changed` requests a redraw.
  constructor(seconds, changed) {
    this.seconds = seconds;
    this.changed = changed;
    [this.from, this.to] = [0, seconds];
  }

  get wide() {
    return this.to - this.from;
  }

  has(moment) {
    return moment >= this.from && moment <= this.to;
  }

  // The nearest moment of the recording.
  inside(moment) {
    return Math.max(0, Math.min(moment, this.seconds));
  }

  // Shows a span of the requested width, moved into the recording.
  show(from, to) {
    const wide = Math.min(to - from, this.seconds);
    const exact = Math.max(0, Math.min(from, this.seconds - wide));
    const begin = exact < LEAST_WINDOW / 1000 ? 0 : exact; // zooming in and out rounds
    this.take(begin, begin + wide);
  }

  showAll() {
    this.show(0, this.seconds);
  }

  centre(moment) {
    this.show(moment - this.wide / 2, moment + this.wide / 2);
  }

  zoom(factor, about = (this.from + this.to) / 2) {
    const wide = Math.min(Math.max(this.wide * factor, LEAST_WINDOW), this.seconds);
    const begin = about - ((about - this.from) / (this.wide || 1)) * wide;
    this.show(begin, begin + wide);
  }

  pan(seconds) {
    this.show(this.from + seconds, this.to + seconds);
  }

  moveEdge(side, moment) {
    const inside = this.inside(moment);
    if (side === "from") this.take(Math.min(inside, this.to - LEAST_WINDOW), this.to);
    else this.take(this.from, Math.max(inside, this.from + LEAST_WINDOW));
  }

  take(from, to) {
    [this.from, this.to] = [from, to];
    this.changed();
  }
}
