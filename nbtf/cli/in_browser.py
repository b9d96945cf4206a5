"""How is a lesson adapted to a page without a server? It installs nbtf first; cells that need processes become text."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from nbtf.cli.languages import language_of
from nbtf.cli.special_cells import empty_folded_cells, is_folded, is_install_cell

INSTALL = "%pip install -q nbtf"
"""Put before the first cell that imports nbtf, because the page's Python starts without it."""

SPEAKS = 'import os; os.environ["NBTF_LANG"] = "{language}"  # the language of the views\n'
"""Put there in a translated notebook, because the page around it is in English."""

_IMPORTS = re.compile(r"^[^\S\n]*(?:import|from) (?:nbtf|tensorflow)\b", re.MULTILINE)
_STARTS = re.compile(r"\bsubprocess\.|^[^\S\n]*!", re.MULTILINE)
_IN_BACKTICKS = re.compile(r"`([^`]*)`")
_CALLS = re.compile(r"\b(\w+)\(")
_DEFINES = re.compile(r"^[^\S\n]*def (\w+)", re.MULTILINE)

SAYS: Mapping[str, str] = {
    "": "This cell starts other programs, which a page cannot do. On a computer (`nbtf lab`) it prints the following.",
    "ja": "このセルは別のプログラムを起動しますが、ブラウザーのページではできません。"
    "手元のコンピューター(`nbtf lab`)では次のように表示されます。",
    "zh-CN": "这个单元格会启动其他程序，浏览器页面做不到。在计算机上（`nbtf lab`）它会输出如下内容。",  # noqa: RUF001
}


def in_browser(notebook: Any) -> Any:
    """Returns a copy of a notebook that runs in a web page.

    Args:
      notebook: as nbformat reads it; not changed.
    """
    page_notebook = copy.deepcopy(notebook)
    # A hidden cell would not be run.
    page_notebook.cells = [cell for cell in page_notebook.cells if not is_install_cell(cell)]
    language = language_of(page_notebook)
    says = SAYS.get(language, SAYS[""])
    unknown: set[str] = set()
    for cell in page_notebook.cells:
        if cell.cell_type == "code" and _needs_processes(cell, unknown):
            unknown |= set(_DEFINES.findall(cell.source))
            _make_text(cell, says)
    empty_folded_cells(page_notebook.cells)
    first = next(
        (cell for cell in page_notebook.cells if cell.cell_type == "code" and _IMPORTS.search(cell.source)), None
    )
    if first is not None and INSTALL not in first.source:
        speaks = SPEAKS.format(language=language) if language else ""
        first.source = f"{INSTALL}\n{speaks}{first.source}"
    return page_notebook


def _needs_processes(cell: Any, unknown: set[str]) -> bool:
    """Returns whether a cell starts a program, or calls a function from a cell that does.

    For a check, the metadata list the functions it calls: `{"nbtf": {"check": NAME, "calls": ["seen"]}}`.
    """
    calls = [*_CALLS.findall(cell.source), *cell.metadata.get("nbtf", {}).get("calls", [])]
    return bool(_STARTS.search(cell.source)) or not unknown.isdisjoint(calls)


def _make_text(cell: Any, says: str) -> None:
    """Converts a code cell into text that shows its code and its recorded output; a folded output stays folded."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.pop("outputs")]
    printed = "".join(texts).rstrip()
    cell.pop("execution_count")
    cell.cell_type = "markdown"
    code, output = f"```python\n{cell.source}\n```", f"\n\n```\n{printed}\n```" if printed else ""
    if printed and is_folded(cell):
        summary = _IN_BACKTICKS.sub(r"<code>\1</code>", says)  # Markdown has no effect inside HTML
        cell.source = f"{code}\n\n<details><summary>{summary}</summary>{output}\n\n</details>"
    else:
        cell.source = f"{code}\n\n*{says}*{output}"
