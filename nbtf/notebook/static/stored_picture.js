// Stores the newest picture of a view in the notebook's file, while a page shows the view itself.
//
// A changed output is drawn again, and a redrawn view loses its panel, its replay and its scroll position. So the picture is
// written into the shared document from which the file is saved. Front ends that draw outputs observe the document's lists
// of outputs and the texts of streams, but not the contents of single outputs.

import { findShell } from "./dock.js";

const SVG_TYPE = "image/svg+xml";
const VIEW_TYPE = "application/vnd.jupyter.widget-view+json";

// Stores `data`, the formats for front ends without widgets, in the output of execution `count` (see widgets.py, View.renew_still).
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

// A picture is sent only once, because the HTML's image contains the SVG.
function withSvg(data) {
  const page = new DOMParser().parseFromString(data["text/html"] ?? "", "text/html");
  const [type, source] = page.querySelector("img")?.getAttribute("src").split(/,(.*)/s) ?? [];
  return type === `data:${SVG_TYPE}` ? { ...data, [SVG_TYPE]: decodeURIComponent(source) } : data;
}

// Older pages cannot change the contents of single outputs, so their pictures stay as first shown.
function storedOutputs(notebook) {
  const lists = (notebook?.sharedModel?.cells ?? []).map((cell) => cell.ymodel?.get("outputs")?.toArray?.() ?? []);
  return lists.flat().filter((output) => output.get && output.set);
}
