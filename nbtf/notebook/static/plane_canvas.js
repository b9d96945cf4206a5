// The canvas below a plane, on which the bands of a snapshot are painted in the colours of the page's theme.

import { attr, h } from "./dom.js";
import { FILLS } from "./measures.js";
import { rasterPixels } from "./plane_raster.js";

const PAINTS = [...FILLS.fillNames, "paper", "line"];
const MOST_SCALE = 2;
const PAINTED = new WeakMap(); // raster -> {scale, theme, image}: a picture that is shown again is not painted again

export class PlaneCanvas {
  constructor(svg) {
    this.svg = svg;
    this.node = h("canvas", { "aria-hidden": "true", hidden: "" });
  }

  // Paints the bands of a picture; hides the canvas if it has none.
  draw(raster) {
    attr(this.node, "hidden", raster ? null : "");
    if (!raster) return;
    const scale = Math.min(window.devicePixelRatio || 1, MOST_SCALE);
    const image = this.painted(raster, scale);
    const { node } = this;
    const { width, height } = image;
    if (node.width !== width || node.height !== height) Object.assign(node, { width, height });
    const place = { left: raster.x, top: raster.y, width: raster.width, height: raster.height };
    for (const [name, px] of Object.entries(place)) node.style[name] = `${px}px`;
    node.getContext("2d").putImageData(image, 0, 0);
  }

  painted(raster, scale) {
    const theme = themeName();
    const kept = PAINTED.get(raster);
    if (kept?.scale === scale && kept.theme === theme) return kept.image;
    const { width, height, pixels } = rasterPixels(raster, this.colours(), scale);
    const image = new ImageData(pixels, width, height);
    PAINTED.set(raster, { scale, theme, image });
    return image;
  }

  // Red, green and blue of the tokens in the current theme.
  colours() {
    const theme = themeName();
    if (this.theme === theme) return this.kept;
    const { style } = this.svg;
    const read = (token) => {
      style.color = `var(--nbtf-${token})`;
      return getComputedStyle(this.svg).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    };
    this.kept = Object.fromEntries(PAINTS.map((token) => [token, read(token)]));
    style.color = "";
    this.theme = theme;
    return this.kept;
  }
}

// Whatever decides between light and dark: the reader's system, JupyterLab, VS Code or another page.
export function themeName() {
  const { dataset, className } = document.body;
  const root = document.documentElement;
  return `${matchMedia("(prefers-color-scheme: dark)").matches} ${dataset.jpThemeLight} ${className} ${root.className} ${JSON.stringify({ ...root.dataset })}`;
}
