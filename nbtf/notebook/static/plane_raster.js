// Paints the bands of a snapshot pixel by pixel. Of pieces smaller than a pixel, each adds its share of the pixel's colour, so that
// a hundred thousand pieces are drawn at every zoom, and none is left out.

const BAND_GAP = 0.4; // px between neighbouring bands, as in other planes
const WIDE_BAND = 2;
const TALL_BAND = 4;
const KEPT_SUMS = new Map();
const MOST_SUMS_KEPT = 4;
const LEAST_COVER = 1e-4; // what rounding leaves
const RASTER_HATCH = { period: 8, stripe: 2, opacity: 0.45 };

// The pixels of a raster: {width, height, pixels}. `layers` is the fill of each band, as an index into `fills`; `colours` has red,
// green and blue of each fill, of `paper` and of `line`.
export function rasterPixels({ width, height, free, used, layers, fills }, colours, scale = 1) {
  const sums = sumsFor(Math.max(Math.round(width * scale), 1), Math.max(Math.round(height * scale), 1), fills.length + 1, scale);
  for (let at = 0; at < free.length; at += 4) sums.add(free, at, 0, false);
  for (let at = 0, band = 0; at < used.length; at += 4, band++) sums.add(used, at, layers[band] + 1, true);
  return sums.pixels([colours.line, ...fills.map((token) => colours[token])], colours.paper);
}

// Sums of zeros; those of the last pictures are used again, because they take megabytes.
function sumsFor(...size) {
  const key = size.join();
  const sums = KEPT_SUMS.get(key) ?? new CoverSums(...size);
  KEPT_SUMS.delete(key);
  KEPT_SUMS.set(key, sums);
  if (KEPT_SUMS.size > MOST_SUMS_KEPT) KEPT_SUMS.delete(KEPT_SUMS.keys().next().value);
  return sums;
}

// How much of each pixel every layer covers, as differences between neighbours in a row; `edges` are the pixels that differ.
class CoverSums {
  constructor(width, height, layers, scale) {
    Object.assign(this, { width, height, layers, scale, row: (width + 2) * layers });
    this.differences = new Float32Array(this.row * height);
    this.edges = new Uint8Array((width + 2) * height);
  }

  add(sides, at, layer, apart) {
    let left = sides[at] * this.scale;
    let right = sides[at + 1] * this.scale;
    let top = sides[at + 2] * this.scale;
    const low = sides[at + 3] * this.scale;
    if (right <= left || low <= top) return;
    if (apart && right - left > WIDE_BAND) ((left += BAND_GAP), (right -= BAND_GAP));
    if (apart && low - top > TALL_BAND) top += 2 * BAND_GAP;
    const last = Math.min(Math.ceil(low), this.height);
    for (let y = Math.max(Math.floor(top), 0); y < last; y++) {
      const cover = Math.min(low, y + 1) - Math.max(top, y);
      this.edge(y, left, layer, cover);
      this.edge(y, right, layer, -cover);
    }
  }

  edge(y, x, layer, cover) {
    const column = Math.floor(x);
    const part = x - column;
    const pixel = y * (this.width + 2) + column;
    const at = pixel * this.layers + layer;
    this.differences[at] += cover * (1 - part);
    this.differences[at + this.layers] += cover * part;
    this.edges[pixel] = this.edges[pixel + 1] = 1;
  }

  // The colours of all pixels. One that is no edge looks like its left neighbour, with or without a stripe. Leaves zeros behind.
  pixels(colours, paper) {
    const { width, height, layers, edges, scale } = this;
    const pixels = new Uint32Array(width * height);
    const covers = new Float32Array(layers);
    const [period, stripe] = [RASTER_HATCH.period * scale, RASTER_HATCH.stripe * scale];
    const blank = packedColour(...paper);
    for (let y = 0, to = 0; y < height; y++) {
      covers.fill(0);
      let [plain, striped] = [blank, blank];
      for (let x = 0, from = y * (width + 2); x < width; x++, from++, to++) {
        if (edges[from]) {
          this.take(from, covers);
          plain = blended(covers, colours, paper, 0);
          striped = covers[0] < LEAST_COVER ? plain : blended(covers, colours, paper, RASTER_HATCH.opacity * Math.min(covers[0], 1));
        }
        pixels[to] = (x + y) % period < stripe ? striped : plain;
      }
      this.take((y + 1) * (width + 2) - 2, covers);
      this.take((y + 1) * (width + 2) - 1, covers);
    }
    return { width, height, pixels: new Uint8ClampedArray(pixels.buffer) };
  }

  // Adds the differences at a pixel, and forgets them.
  take(pixel, covers) {
    const { layers, differences } = this;
    for (let layer = 0, at = pixel * layers; layer < layers; layer++, at++) {
      covers[layer] += differences[at];
      differences[at] = 0;
    }
    this.edges[pixel] = 0;
  }
}

// The colour of a pixel that the layers cover in part; the first layer is the hatch.
function blended(covers, colours, paper, hatch) {
  let red = 0;
  let green = 0;
  let blue = 0;
  let whole = 0;
  for (let layer = 1; layer < covers.length; layer++) {
    const cover = covers[layer];
    if (cover < LEAST_COVER) continue;
    whole += cover;
    red += cover * colours[layer][0];
    green += cover * colours[layer][1];
    blue += cover * colours[layer][2];
  }
  const opaque = Math.min(whole, 1);
  const share = whole ? opaque / whole : 0;
  const line = colours[0];
  const rest = (1 - opaque) * (1 - hatch);
  const visible = (1 - opaque) * hatch;
  return packedColour(red * share + paper[0] * rest + line[0] * visible, green * share + paper[1] * rest + line[1] * visible, blue * share + paper[2] * rest + line[2] * visible);
}

// A colour as the 32 bits of a pixel, on machines that store the lowest byte first.
function packedColour(red, green, blue) {
  return (0xff000000 | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5)) >>> 0;
}
