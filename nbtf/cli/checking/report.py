"""What can be inspected afterwards? A folder with the executed notebooks, and one page that shows the differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from os.path import commonpath
from pathlib import Path

from nbtf._own_files import own_text
from nbtf._storage import files
from nbtf.cli.checking.pictures import PICTURES
from nbtf.cli.checking.text import last_line, summary, title
from nbtf.cli.checking.verdicts import CellVerdict, NotebookVerdict
from nbtf.cli.command_error import CommandError, writing
from nbtf.cli.execution import Output
from nbtf.cli.notebook_file import write

PAGE = "index.html"


def require_free(folder: Path, paths: Iterable[Path]) -> None:
    """Rejects a report folder in which the report would overwrite a checked notebook.

    Raises:
      CommandError: if a report there would overwrite a notebook.
    """
    for copy, path in zip(_copies(folder, list(paths)), paths, strict=True):
        if copy.exists() and copy.samefile(path):
            raise CommandError(f"--report {folder} would overwrite {path}. Choose another folder.")


def write_report(folder: Path, verdicts: Sequence[NotebookVerdict]) -> None:
    """Writes the executed notebooks and the page.

    Args:
      folder: folder for the report; created if necessary.
      verdicts: the notebooks' verdicts, in order.

    Raises:
      CommandError: if a file cannot be written.
    """
    copies = _copies(folder, [verdict.path for verdict in verdicts])
    for copy, verdict in zip(copies, verdicts, strict=True):
        if verdict.executed is not None:
            with writing(copy):
                files.make_folder(copy.parent)
            write(copy, verdict.executed)
    with writing(folder / PAGE):
        files.make_folder(folder)
        files.write(folder / PAGE, page(verdicts, [copy.relative_to(folder).as_posix() for copy in copies]))


def _copies(folder: Path, paths: list[Path]) -> list[Path]:
    """Returns the path of each notebook's copy; the copies keep the folder structure of the notebooks."""
    full_paths = [path.resolve() for path in paths]
    if not full_paths:
        return []
    try:
        above = Path(commonpath([path.parent for path in full_paths]))
    except ValueError:  # on Windows, the files may be on several drives
        return [folder / str(number) / path.name for number, path in enumerate(paths, start=1)]
    return [folder / path.relative_to(above) for path in full_paths]


def page(verdicts: Sequence[NotebookVerdict], links: Sequence[str]) -> str:
    """Returns the page, which needs no network and runs no program.

    Args:
      verdicts: the notebooks' verdicts, in order.
      links: the address of each copy, relative to the page.
    """
    sections = [
        own_text("nbtf.cli.checking", "report_head.html"),
        "<main><h1>Checked notebooks</h1>",
        f"<p>{escape(last_line(verdicts))}</p>",
    ]
    for verdict, link in zip(verdicts, links, strict=True):
        sections += _of_notebook(verdict, link)
    return "\n".join([*sections, "</main></body></html>\n"])


def _of_notebook(verdict: NotebookVerdict, link: str) -> Iterator[str]:
    title_line = escape(f"{verdict.path}: {summary(verdict)}")
    yield f"<details{' open' if verdict.is_wrong else ''}><summary>{title_line}</summary>"
    if verdict.executed is not None:
        yield f'<p><a href="{escape(link)}">the executed notebook</a></p>'
    if verdict.problems:
        yield f"<pre>{escape(chr(10).join(verdict.problems))}</pre>"
    for cell in verdict.wrong_cells():
        yield f"<section><h2>{escape(title(cell))}</h2><pre>{escape(cell.source)}</pre>"
        yield f"<pre>{chr(10).join(map(_line, cell.lines))}</pre>"
        yield from _pictures(cell)
        yield "</section>"
    yield "</details>"


def _line(line: str) -> str:
    css_class = {"- ": "was", "+ ": "is"}.get(line[:2])
    text = escape(line)
    return f'<span class="{css_class}">{text}</span>' if css_class else text


def _pictures(cell: CellVerdict) -> Iterator[str]:
    """Yields a cell's pictures side by side if they differ."""
    if not any(line.startswith(PICTURES) for line in cell.lines):
        return
    yield '<div class="pair">'
    for caption, outputs in (("recorded", cell.recorded), ("now", cell.printed)):
        for source in _sources(outputs):
            yield f'<figure><figcaption>{caption}</figcaption><img alt="{caption}" src="{source}"></figure>'
    yield "</div>"


def _sources(outputs: Iterable[Output]) -> Iterator[str]:
    for output in outputs:
        for content in PICTURES:
            if content in output.get("data", {}):
                yield f"data:{content};base64,{escape(''.join(str(output['data'][content]).split()))}"
