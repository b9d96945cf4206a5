// Says below a waiting cell that the browser's Python could not be loaded.
//
// NOTE, which precedes this program, is {address: that of Pyodide, perhaps relative to this file, seconds: after which a waiting
// cell is looked at, texts: by language}. Once a cell has run, Python is loaded, and the page says nothing more.
{
  const LOOK_EVERY = 1000; // milliseconds
  const address = new URL(NOTE.address, document.currentScript.src);
  const promptOf = (cell) => cell.querySelector(".jp-InputPrompt")?.textContent ?? "";
  const waitingCells = () => [...document.querySelectorAll(".jp-CodeCell")].filter((cell) => promptOf(cell).includes("*"));

  const isReachable = async () => {
    try {
      const answer = await fetch(address, { method: "HEAD", mode: "no-cors", cache: "no-store" });
      return answer.ok || answer.type === "opaque";
    } catch {
      return false;
    }
  };

  // The language of the lesson, whose folder has its name; otherwise that of the browser. JupyterLite soon removes the path.
  const folder = (new URLSearchParams(location.search).get("path") ?? "").split("/")[0];
  const isSpoken = (name) => name.split("_")[0] === navigator.language.split("-")[0];
  const language = [folder, Object.keys(NOTE.texts).find(isSpoken)].find((name) => name in NOTE.texts) ?? "en";

  const show = (cell) => {
    const note = document.createElement("p");
    note.className = "nbtf-site-note";
    note.setAttribute("role", "alert");
    note.style.cssText = "margin: 4px 0 4px 72px; padding: 6px 10px; border-left: 4px solid var(--jp-warn-color0); background: var(--jp-layout-color2); color: var(--jp-ui-font-color0);";
    note.textContent = NOTE.texts[language];
    cell.append(note);
  };

  let [cells, since] = [[], performance.now()];
  const look = async () => {
    const before = cells;
    cells = waitingCells();
    if (before.some((cell) => cell.isConnected && /\d/.test(promptOf(cell)))) return clearInterval(timer);
    if (!cells.length || !before.length) since = performance.now();
    if (performance.now() - since < 1000 * NOTE.seconds) return;
    since = performance.now();
    if (await isReachable()) return;
    clearInterval(timer);
    show(cells[0]);
  };
  const timer = setInterval(look, LOOK_EVERY);
}
