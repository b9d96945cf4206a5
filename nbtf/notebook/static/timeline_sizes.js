// The sizes of the timeline's picture, in px, and its limits.

export const SHEET = {
  margin: 16,
  labels: 126, // minimum width of the column with the names of the lanes
  lane: 44,
  belowLane: 26,
  host: 20,
  belowHost: 22,
  overview: 44,
  traces: 22,
  mostReasons: 3, // maximum number of repeated traces that the foot explains
  mostColumns: 640, // maximum number of columns in a picture with many short pieces; each is then several px wide
};

// Widths from which an op or a copy gets a block, a title, a name and a shape. Lanes show how busy the device was with all smaller
// ones. Lanes from `twoLines` px up have space for a shape below the name.
export const BLOCK = { own: 2, titled: 4, named: 26, shaped: 70, twoLines: 30 };
