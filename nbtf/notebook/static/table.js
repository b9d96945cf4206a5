// An HTML table, for readers who prefer rows to pictures.

import { h } from "./dom.js";

// {caption, columns: ["device", {label: "ops", number: true}], rows: [["GPU:0", "412"]], notes: ["412 ops in all"]}.
// The first column names the row.
export function table({ caption, columns, rows, notes }) {
  const heads = columns.map((column) => (typeof column === "string" ? { label: column } : column));
  const kind = (i) => (heads[i]?.number ? "nbtf-number" : null);
  return h(
    "div",
    { class: "nbtf-table" },
    h(
      "div",
      { class: "nbtf-scroll", tabindex: "0", role: "group", "aria-label": caption },
      h(
        "table",
        null,
        h("caption", null, caption),
        h("thead", null, h("tr", null, heads.map((head, i) => h("th", { scope: "col", class: kind(i) }, head.label)))),
        h("tbody", null, rows.map((row) => h("tr", null, row.map((cell, i) => tableCell(cell, i, kind(i)))))),
      ),
    ),
    (notes || []).map((note) => h("p", { class: "nbtf-note" }, note)),
  );
}

function tableCell(cell, i, kind) {
  const text = cell === null || cell === undefined || cell === "" ? "–" : String(cell);
  return i ? h("td", { class: kind }, breakable(text)) : h("th", { scope: "row", class: kind }, breakable(text));
}

// A long name such as max_split_size_mb:128 breaks between its parts if its column is narrow.
function breakable(text) {
  return text.split(/(?<=\w[,/:]|[a-z0-9]_|::)(?=\w)/i).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));
}
