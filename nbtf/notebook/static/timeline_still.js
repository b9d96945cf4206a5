// Draws the timeline of a whole recording as a picture that stands alone. `data` is that of a page (see stills/timeline_data.py).

import { timeline } from "./timeline.js";
import { timelineScene } from "./timeline_scene.js";
import { WORDS } from "./words.js";

const LEAST_STILL = 480; // minimum width, in px

export function timelineStill(data, width) {
  const scene = timelineScene(data);
  const { parts, ...picture } = timeline(scene, { from: 0, to: scene.seconds }, Math.max(width, LEAST_STILL), WORDS.timeline);
  return picture;
}
