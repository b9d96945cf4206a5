// The pictures that Python draws with this program, by name; see stills/drawing.py. Pages draw them by the same functions.

import { mapPicture } from "./map_picture.js";
import { useWords } from "./words.js";

const STILLS = { deviceMap: mapPicture };

// A picture as JSON. `inputs` is a list of the picture's inputs as JSON.
export function still(name, inputs) {
  return JSON.stringify(STILLS[name](...JSON.parse(inputs)));
}

// Switches to the words of a translation, as JSON.
export function speak(translation) {
  useWords(JSON.parse(translation));
}
