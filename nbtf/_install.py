"""Where is nbtf installed from? One answer for messages, lessons and pages."""

from __future__ import annotations

SOURCE = ""
"""`nbtf` once an index of packages has it; before that `git+https://...`, the address of its repository; empty while
neither can be reached: then it is installed from its folder. Who publishes it changes this line, and then runs
`nbtf notebooks badges notebooks`, which brings the lessons along."""

INDEX = "nbtf"


def requirement(extra: str, folder: str = ".", source: str | None = None) -> str:
    """Returns what pip is given, without quotes.

    Args:
      extra: of pyproject.toml, such as `lab`; several with commas between them.
      folder: of the repository, seen from where pip runs.
      source: instead of `SOURCE`.

    >>> requirement("lab", source="nbtf")
    'nbtf[lab]'
    >>> requirement("lab", source="git+https://github.com/me/nbtf")
    'nbtf[lab] @ git+https://github.com/me/nbtf'
    >>> requirement("views", folder="..", source="")
    '..[views]'
    """
    source = SOURCE if source is None else source
    if not source:
        return f"{folder}[{extra}]"
    return f"nbtf[{extra}]" if source == INDEX else f"nbtf[{extra}] @ {source}"


def pip_install(extra: str) -> str:
    """Returns the line that installs nbtf with an extra, to be said in a message."""
    return f'pip install "{requirement(extra)}"' + ("" if SOURCE else ", in the folder of nbtf")
