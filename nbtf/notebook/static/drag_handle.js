// What a pointer drags and keys move along an axis of time.

import { h } from "./dom.js";

// A handle that is a slider: `value()` is its moment, `step()` how far an arrow key moves it, `momentAt(event)` that of a pointer.
export function dragHandle(name, value, step, move, momentAt, style = "") {
  const keys = (event) => {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!way || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    swallow(event);
    move(value() + way * step());
  };
  const drag = (event) => {
    swallow(event);
    event.currentTarget.focus();
    followPointer(event, (next) => move(momentAt(next)));
  };
  return h("div", { class: `nbtf-time-handle ${style}`, role: "slider", tabindex: "0", "aria-label": name, onkeydown: keys, onpointerdown: drag });
}

// Short times are written without an exponent, which these attributes do not allow.
export function sliderAt(element, value, most, words) {
  const [max, now] = [most, value].map((figure) => (Number.isInteger(figure) ? figure : figure.toFixed(12)));
  for (const [name, figure] of Object.entries({ min: 0, max, now, text: words })) element.setAttribute(`aria-value${name}`, figure);
}

export function setBox(element, left, top, width, height) {
  for (const [name, px] of Object.entries({ left, top, width, height })) element.style[name] = `${px}px`;
}

// Calls back while a pressed pointer moves. An element that does not capture it at once still gets its clicks.
export function followPointer(event, move, captures = true) {
  const element = event.currentTarget;
  if (captures) element.setPointerCapture(event.pointerId);
  element.addEventListener("pointermove", move);
  const end = () => element.removeEventListener("pointermove", move);
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, end, { once: true });
}

export function swallow(event) {
  event.preventDefault();
  event.stopPropagation();
}
