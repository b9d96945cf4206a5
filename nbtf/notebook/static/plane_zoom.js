// Zooms into a picture of memory over time: steps across and, in the layout of memory, addresses upwards.

import { PLANE } from "./plane_sizes.js";

const PLANE_ZOOM = 1.5;
const PLANE_WHEEL = 0.002; // zoom per px that a wheel turns
const PLANE_PAN = 0.1;
const FRAME_OF_PIECE = 0.15; // of a piece's steps and addresses, left around it after a zoom to it

export class PlaneZoom {
  // `view` has the state of the memory, the layout of its picture, the px of an event (`at`), and `act`, which changes the state.
  constructor(view) {
    this.view = view;
    this.pointer = null; // an event over the picture; null elsewhere
    this.nearer = (state) => this.aboutStep(state, 1 / PLANE_ZOOM);
    this.farther = (state) => this.aboutStep(state, PLANE_ZOOM);
  }

  // What keys do.
  keys() {
    const [nearer, farther] = [(state) => this.aboutPointer(state, 1 / PLANE_ZOOM), (state) => this.aboutPointer(state, PLANE_ZOOM)];
    const [back, on] = [(state) => state.pan(-PLANE_PAN, 0), (state) => state.pan(PLANE_PAN, 0)];
    return { "+": nearer, "=": nearer, w: nearer, "-": farther, s: farther, "0": (state) => (state.view = null), "[": back, a: back, "]": on, d: on, f: (state) => this.toSelection(state) };
  }

  // Zooms about the current step and the selected chunk.
  aboutStep(state, factor) {
    const { axis, high } = this.view.layout;
    const { from, to, low, high: top } = state.view ?? { from: 0, to: 1, low: 0, high: 1 };
    const { start, size } = state.chosen ?? {};
    const up = size ? ((start + size / 2) / high - low) / (top - low) : 0.5;
    state.zoom(factor, within((axis.shareOf(state.step) - from) / (to - from)), this.hasAddresses() ? within(up) : null);
  }

  aboutPointer(state, factor) {
    if (this.pointer) this.aboutPoint(state, factor, this.pointer);
    else this.aboutStep(state, factor);
  }

  // Above the addresses, only time is zoomed.
  aboutPoint(state, factor, event) {
    const [x, y] = this.view.at(event);
    const { left, right, top, bottom } = this.sides();
    const up = this.hasAddresses() && y >= top ? within(1 - (y - top) / (bottom - top)) : null;
    state.zoom(factor, within((x - left) / (right - left)), up);
  }

  // Zooms to the selected range or, without one, to the selected piece.
  toSelection(state) {
    const { axis, high } = this.view.layout;
    const { low, high: top } = state.view ?? { low: 0, high: 1 };
    const { piece } = state.chosen ?? {};
    const share = (step) => axis.edgeShare(step);
    if (state.range) return state.show(share(state.range.from), share(state.range.to + 1), low, top);
    if (!piece) return;
    const steps = spaced(share(piece.birth), share(piece.death));
    state.show(...steps, ...(this.hasAddresses() ? spaced(piece.start / high, (piece.start + piece.size) / high) : [low, top]));
  }

  // Turning the wheel with Ctrl zooms about the pointer; sideways or with Shift, it moves what is in sight.
  wheel(event) {
    const { view } = this;
    const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    const { left, right } = this.sides();
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      return view.act((state) => this.aboutPoint(state, Math.exp(event.deltaY * PLANE_WHEEL), event));
    }
    if (!view.state.view || (!event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY))) return;
    event.preventDefault();
    view.act((state) => state.pan(across / (right - left), 0));
  }

  // Moves what is in sight to the step, if that has changed, and to a chunk that has just been selected.
  follow(state, hasMoved, chunk) {
    const { axis, high } = this.view.layout;
    if (hasMoved && !axis.shows(state.step)) state.centre(axis.shareOf(state.step));
    if (!chunk || !this.hasAddresses()) return;
    const { start, size } = chunk;
    if (start / high >= state.view.high || (start + size) / high <= state.view.low) state.centreAddress((start + size / 2) / high);
  }

  hasAddresses() {
    return this.view.layout.top !== undefined;
  }

  // The px of the steps and addresses.
  sides() {
    const { right, top, bottom } = this.view.layout;
    return { left: PLANE.left, right, top, bottom };
  }
}

function within(share) {
  return Math.min(Math.max(share, 0), 1);
}

// A span with some space around it.
function spaced(from, to) {
  const space = (to - from) * FRAME_OF_PIECE;
  return [Math.max(from - space, 0), Math.min(to + space, 1)];
}
