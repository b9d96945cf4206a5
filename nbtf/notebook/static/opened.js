// Opens the recording of a cell on request in a live view: as a tab beside the notebook, otherwise below the view.
//
// The opened element has the recording's name, by which the recording's own program finds it (see recording_loader.js).

import { findShell } from "./dock.js";
import { h } from "./dom.js";
import { WORDS } from "./words.js";

// Shows the kernel's answer (see widgets.py, View._take_message), replacing what was opened before.
export async function openRecording({ model, el, root }, { ident, cell, device, span }) {
  const place = h("div", { "data-nbtf-recording": ident, "data-nbtf-focus": JSON.stringify({ device, span }) }, "…");
  const opened = h("div", { class: "nbtf-opened" }, place);
  await model.widget_manager?.get_model?.(ident); // if outputs are separate documents, this loads the model into the current one
  const found = await findShell(model, el);
  if (found && showTab(found, opened, `${WORDS.recording.open}: ${cell}`)) return;
  root.querySelector(".nbtf-opened")?.remove();
  opened.prepend(h("button", { type: "button", onclick: () => opened.remove() }, WORDS.recording.close));
  root.append(opened);
  opened.scrollIntoView({ block: "nearest" });
}

// Notebook 7 has space only for the notebook and a panel below it.
function showTab({ shell, Widget, notebook }, content, label) {
  const id = `nbtf-recording-${notebook.id}`;
  const tab = document.getElementById(id)?.nbtfTab ?? makeTab(new Widget(), id, notebook);
  tab.node.replaceChildren(content);
  tab.title.label = label;
  for (const area of ["main", "down"]) {
    if (!tab.isAttached) shell.add(tab, area, { mode: "tab-after", ref: notebook.id });
  }
  if (tab.isAttached) shell.activateById(id);
  return tab.isAttached;
}

function makeTab(tab, id, notebook) {
  tab.id = id;
  tab.addClass("nbtf-panel");
  tab.title.closable = true;
  tab.title.caption = `nbtf: ${notebook.title.label}`;
  tab.onCloseRequest = () => tab.dispose(); // by default, closing only removes it from the page
  notebook.disposed.connect(() => tab.dispose());
  tab.node.nbtfTab = tab;
  return tab;
}
