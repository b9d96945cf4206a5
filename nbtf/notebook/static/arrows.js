// Copies as arrows: straight lanes between the host and each GPU, arcs between GPUs.

import { attr, bytes, exact, h, keyed, put, s } from "./dom.js";
import { copiesText } from "./room.js";

const TRAVEL = 800;
const DOOR_TO_FLOOR = 110; // a room without its details: arcs keep their place when the details open

// Two lanes beside a GPU's room: from the host, to the host.
export function makeLanes() {
  const lanes = { in: makeLane("in"), out: makeLane("out") };
  return Object.assign(h("div", { class: "nbtf-lanes", "aria-hidden": "true" }, lanes.in, lanes.out), { nbtf: lanes });
}

function makeLane(way) {
  const text = h("span", { class: "nbtf-lane-text" });
  const [head, tip] = way === "in" ? ["M-9,1 L-1,6 L-9,11", "100%"] : ["M9,1 L1,6 L9,11", "0"];
  const shaft = s("svg", { class: "nbtf-shaft" },
    s("line", { x1: "0", y1: "6", x2: "100%", y2: "6" }), s("svg", { x: tip, overflow: "visible" }, s("path", { d: head })));
  const packet = h("span", { class: "nbtf-packet" });
  return Object.assign(h("div", { class: `nbtf-lane nbtf-${way}` }, text, shaft, packet), { nbtf: { text, packet } });
}

export function updateLanes(root, name, host, show) {
  for (const [way, lane] of Object.entries(root.nbtf)) {
    const [from, to] = way === "in" ? [host, name] : [name, host];
    const copy = show.all.find((one) => one[0] === from && one[1] === to);
    attr(lane, "data-off", copy ? null : "");
    put(lane.nbtf.text, copy ? copiesText(copy[2], bytes(copy[3])) : "");
    attr(lane, "title", copy ? exact(copy[3]) : null);
    attr(lane, "data-now", isNow(show.replayed, from, to) ? "" : null);
  }
}

function isNow(step, from, to) {
  return step && step.kind === 1 && step.device === from && step.target === to;
}

// Lets a packet travel along a lane.
export function travelLane(root, inward) {
  const { packet } = root.nbtf[inward ? "in" : "out"].nbtf;
  const [a, b] = inward ? ["0%", "100%"] : ["100%", "0%"];
  packet.animate({ left: [a, b], opacity: [1, 1] }, { duration: TRAVEL, easing: "ease-in-out" });
}

export function makeArcs() {
  return Object.assign(s("svg", { class: "nbtf-arcs", "aria-hidden": "true" }), { nbtf: { shape: "" } });
}

// `places`: name -> {top, height} of each GPU's room within the arcs' box; `width` of that box.
export function updateArcs(svg, copies, places, width, show) {
  const arcs = route(copies.filter(([from, to]) => places.has(from) && places.has(to)), places, width);
  const most = Math.max(1, ...arcs.map((arc) => arc.sum));
  keyed(svg, arcs, (arc) => `${arc.from}\n${arc.to}`, makeArc, (node, arc) => {
    attr(node.firstChild, "d", arc.path);
    attr(node.firstChild, "stroke-width", (1 + 2 * Math.sqrt(arc.sum / most)).toFixed(1));
    attr(node.lastChild, "d", arc.head);
    attr(node, "data-now", isNow(show.replayed, arc.from, arc.to) ? "" : null);
    attr(node, "data-touched", show.focus && (show.focus === arc.from || show.focus === arc.to) ? "" : null);
  });
  attr(svg, "data-many", arcs.length > 8 ? "" : null);
}

function makeArc(arc) {
  return s("g", { class: "nbtf-arc", "data-from": arc.from, "data-to": arc.to }, s("path", { class: "nbtf-string" }), s("path", { class: "nbtf-tip" }));
}

// Every room has ports along its right edge, one for each end of an arc, ordered so that neighbours do not cross.
function route(copies, places, width) {
  const ends = new Map([...places.keys()].map((name) => [name, []]));
  const order = [...places.keys()];
  const arcs = copies.map(([from, to, , sum]) => ({ from, to, sum, span: Math.abs(order.indexOf(from) - order.indexOf(to)) }));
  for (const arc of arcs) {
    ends.get(arc.from).push({ arc, end: "y0", other: order.indexOf(arc.to) });
    ends.get(arc.to).push({ arc, end: "y1", other: order.indexOf(arc.from) });
  }
  for (const [name, list] of ends) setPorts(list, order.indexOf(name), places.get(name));
  const widest = Math.max(1, ...arcs.map((arc) => arc.span));
  for (const arc of arcs) {
    const reach = (width - 8) * (0.35 + 0.65 * (arc.span / widest)) * 1.3;
    arc.path = `M0,${arc.y0} C${reach},${arc.y0} ${reach},${arc.y1} 5,${arc.y1}`;
    arc.head = `M10,${arc.y1 - 5} L2,${arc.y1} L10,${arc.y1 + 5}`;
  }
  return arcs;
}

// Up the page the nearest goes highest; ends that lead down come below those that lead up, farthest first.
function setPorts(list, own, { top, height }) {
  const key = ({ other }) => (other < own ? other : 1000 - other);
  list.sort((a, b) => (a.other < own) === (b.other < own) ? (a.other < own ? b.other - a.other : key(a) - key(b)) : a.other < own ? -1 : 1);
  const gap = Math.min(14, (Math.min(height, DOOR_TO_FLOOR) - 16) / Math.max(1, list.length));
  const first = top + Math.min(height, DOOR_TO_FLOOR) / 2 - (gap * (list.length - 1)) / 2;
  list.forEach(({ arc, end }, i) => (arc[end] = Math.round(first + i * gap)));
}

// Lets a packet travel along an arc.
export function travelArc(svg, from, to) {
  const arc = [...svg.children].find((one) => one.dataset.from === from && one.dataset.to === to);
  if (!arc) return;
  const packet = s("circle", { class: "nbtf-packet-dot", r: 5 });
  const string = arc.firstChild;
  const length = string.getTotalLength();
  const began = performance.now();
  svg.append(packet);
  requestAnimationFrame(function move(now) {
    const part = Math.min(1, Math.max(0, (now - began) / TRAVEL));
    const point = string.getPointAtLength(length * part);
    packet.setAttribute("cx", point.x);
    packet.setAttribute("cy", point.y);
    if (part < 1 && packet.isConnected) requestAnimationFrame(move);
    else packet.remove();
  });
}
