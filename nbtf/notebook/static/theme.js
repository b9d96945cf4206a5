// Light or dark? In JupyterLab, VS Code and saved pages, style sheets know. Elsewhere (marimo, Panel, Solara), the colour of the
// text around a view decides. There, a style sheet cannot: inside a shadow root, it does not see the page's classes.

import { attr } from "./dom.js";

const SYSTEM_IS_DARK = "(prefers-color-scheme: dark)";

// Keeps `root`, an element of the page with a view, in the page's theme, as `data-theme`, until it is removed from the page.
export function followTheme(root) {
  if (knowsTheme()) return;
  const system = matchMedia(SYSTEM_IS_DARK);
  const renew = () => {
    if (root.isConnected) return attr(root, "data-theme", hasLightText(root) ? "dark" : "light");
    page.disconnect();
    system.removeEventListener("change", renew);
  };
  const page = new MutationObserver(renew);
  for (const node of [document.documentElement, document.body]) page.observe(node, { attributes: true });
  system.addEventListener("change", renew);
  requestAnimationFrame(renew); // it may not be in the page yet
}

function knowsTheme() {
  const { dataset, classList } = document.body;
  return dataset.jpThemeLight !== undefined || classList.contains("vscode-light") || classList.contains("vscode-dark") || document.querySelector(".nbtf-page");
}

// Whether the text around an element is light, so its page is dark.
function hasLightText(root) {
  const around = root.parentElement ?? root.getRootNode().host;
  const paint = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  paint.fillStyle = getComputedStyle(around).color; // in any notation, such as oklch(...)
  paint.fillRect(0, 0, 1, 1);
  const [red, green, blue] = paint.getImageData(0, 0, 1, 1).data;
  return 0.299 * red + 0.587 * green + 0.114 * blue > 127;
}
