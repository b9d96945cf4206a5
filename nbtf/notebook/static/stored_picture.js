// Which picture of a view does a notebook's file have? The newest, also while a page shows the view itself.
//
// An output that changes is drawn again, and a view that is drawn again loses its panel, its replay and where it was scrolled to.
// So the picture goes where the file is written from, the shared document below the outputs: who draws them follows lists of
// outputs there and texts of streams, and hears nothing of what a single output holds.

import { findShell } from "./dock.js";

const SVG_TYPE = "image/svg+xml";
const VIEW_TYPE = "application/vnd.jupyter.widget-view+json";

// Stores `data`, what front ends without widgets show, in the output of the run `count` (see widgets.py, View.renew_still).
export async function storePicture({ model, el }, { count, data }) {
  const page = await findShell(model, el);
  const notebook = page?.notebook.context.model;
  const picture = withSvg(data);
  for (const output of storedOutputs(notebook)) {
    const stored = output.get("data");
    if (output.get("execution_count") !== count || stored?.[VIEW_TYPE]?.model_id !== model.get("ident")) continue;
    if (Object.entries(picture).every(([type, text]) => stored[type] === text)) continue;
    output.set("data", { ...stored, ...picture });
    notebook.dirty = true;
  }
}

// A picture is sent once: what the HTML shows as an image is the SVG.
function withSvg(data) {
  const page = new DOMParser().parseFromString(data["text/html"] ?? "", "text/html");
  const [type, source] = page.querySelector("img")?.getAttribute("src").split(/,(.*)/s) ?? [];
  return type === `data:${SVG_TYPE}` ? { ...data, [SVG_TYPE]: decodeURIComponent(source) } : data;
}

// A page that is older holds outputs that cannot be changed one by one: they stay as they were shown.
function storedOutputs(notebook) {
  const lists = (notebook?.sharedModel?.cells ?? []).map((cell) => cell.ymodel?.get("outputs")?.toArray?.() ?? []);
  return lists.flat().filter((output) => output.get && output.set);
}
