// The pictures that Python draws with this program, by name; see stills/drawing.py. Pages draw most of them by the same functions.

import { clusterPicture } from "./cluster_picture.js";
import { decisionPicture } from "./decision_picture.js";
import { mapPicture } from "./map_picture.js";
import { chunksStill, planeStill, stackStill, treemapStill } from "./memory_stills.js";
import { refusalStill } from "./refusal_still.js";
import { snapshotStill } from "./snapshot_still.js";
import { timelineStill } from "./timeline_still.js";
import { squarified } from "./treemap_picture.js";
import { useWords } from "./words.js";

const STILLS = {
  cluster: clusterPicture,
  decision: decisionPicture,
  deviceMap: mapPicture,
  memoryChunks: chunksStill,
  memoryPlane: planeStill,
  memoryStack: stackStill,
  memoryTreemap: treemapStill,
  refusal: refusalStill,
  snapshot: snapshotStill,
  squarified,
  timeline: timelineStill,
};

// A picture as JSON. `inputs` is a list of the picture's inputs as JSON.
export function drawStill(name, inputs) {
  return JSON.stringify(STILLS[name](...JSON.parse(inputs)));
}

// Switches to the words of a translation, as JSON.
export function speakStill(translation) {
  useWords(JSON.parse(translation));
}
