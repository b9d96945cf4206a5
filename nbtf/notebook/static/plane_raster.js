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
  const sums = sumsFor(Math.max(Math.round(width * scale), 1), Math.max(Math.round(height * scale), 1), scale);
  for (let at = 0; at < free.length; at += 4) sums.add(free, at, null);
  const colourOf = fills.map((token) => colours[token]);
  for (let at = 0, band = 0; at < used.length; at += 4, band++) sums.add(used, at, colourOf[layers[band]]);
  return sums.pixels(colours.paper, colours.line);
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

const SUMS = 5; // per pixel: how much of it bands cover, their red, green and blue, and how much of it is free

// What covers each pixel, as differences between neighbours in a row; `edges` are the pixels that differ.
class CoverSums {
  constructor(width, height, scale) {
    Object.assign(this, { width, height, scale });
    this.differences = new Float32Array((width + 2) * height * SUMS);
    this.edges = new Uint8Array((width + 2) * height);
  }

  // Adds a band of a colour, or a free one: null.
  add(sides, at, colour) {
    let left = sides[at] * this.scale;
    let right = sides[at + 1] * this.scale;
    let top = sides[at + 2] * this.scale;
    const low = sides[at + 3] * this.scale;
    if (right <= left || low <= top) return;
    if (colour && right - left > WIDE_BAND) ((left += BAND_GAP), (right -= BAND_GAP));
    if (colour && low - top > TALL_BAND) top += 2 * BAND_GAP;
    const last = Math.min(Math.ceil(low), this.height);
    for (let y = Math.max(Math.floor(top), 0); y < last; y++) {
      const cover = Math.min(low, y + 1) - Math.max(top, y);
      this.edge(y, left, colour, cover);
      this.edge(y, right, colour, -cover);
    }
  }

  edge(y, x, colour, cover) {
    const column = Math.floor(x);
    const part = cover * (x - column);
    const pixel = y * (this.width + 2) + column;
    this.change(pixel, colour, cover - part);
    this.change(pixel + 1, colour, part);
  }

  change(pixel, colour, cover) {
    const { differences } = this;
    const at = pixel * SUMS;
    this.edges[pixel] = 1;
    if (!colour) return (differences[at + 4] += cover);
    differences[at] += cover;
    differences[at + 1] += cover * colour[0];
    differences[at + 2] += cover * colour[1];
    differences[at + 3] += cover * colour[2];
  }

  // The colours of all pixels. One that is no edge looks like its left neighbour, with or without a stripe. Leaves zeros behind.
  pixels(paper, line) {
    const { width, height, edges, scale } = this;
    const pixels = new Uint32Array(width * height);
    const covers = new Float64Array(SUMS);
    const [period, stripe] = [RASTER_HATCH.period * scale, RASTER_HATCH.stripe * scale];
    const blank = packedColour(...paper);
    for (let y = 0, to = 0; y < height; y++) {
      covers.fill(0);
      let [plain, striped] = [blank, blank];
      for (let x = 0, from = y * (width + 2); x < width; x++, from++, to++) {
        if (edges[from]) {
          this.take(from, covers);
          plain = blended(covers, paper, line, 0);
          striped = covers[4] < LEAST_COVER ? plain : blended(covers, paper, line, RASTER_HATCH.opacity * Math.min(covers[4], 1));
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
    const { differences } = this;
    for (let sum = 0, at = pixel * SUMS; sum < SUMS; sum++, at++) {
      covers[sum] += differences[at];
      differences[at] = 0;
    }
    if (covers[0] < LEAST_COVER) covers[0] = covers[1] = covers[2] = covers[3] = 0;
    this.edges[pixel] = 0;
  }
}

// The colour of a pixel that bands cover in part; the rest is paper, with stripes as opaque as `hatch`. Called for each pixel.
function blended(covers, paper, line, hatch) {
  const opaque = Math.min(covers[0], 1);
  const share = covers[0] ? opaque / covers[0] : 0;
  const plain = (1 - opaque) * (1 - hatch);
  const striped = (1 - opaque) * hatch;
  return packedColour(
    covers[1] * share + paper[0] * plain + line[0] * striped,
    covers[2] * share + paper[1] * plain + line[1] * striped,
    covers[3] * share + paper[2] * plain + line[2] * striped,
  );
}

// A colour as the 32 bits of a pixel, on machines that store the lowest byte first.
function packedColour(red, green, blue) {
  return (0xff000000 | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5)) >>> 0;
}
