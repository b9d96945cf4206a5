"""Which version of nbtf is this, and where is it installed from? The single source for messages, lessons and pages."""

from __future__ import annotations

VERSION = "1.0.0"
"""nbtf's own version, which `tf.runtime.version` returns."""

SOURCE = ""
"""`nbtf` once a package index has it; before that, `git+https://...` with the address of its repository; empty if
neither is available, so that it is installed from its folder. To publish nbtf, change this line, then run
`nbtf notebooks badges notebooks`, which updates the lessons."""

INDEX = "nbtf"


def requirement(extra: str, folder: str = ".", source: str | None = None) -> str:
    """Returns the requirement to pass to pip, without quotes.

    Args:
      extra: an extra of pyproject.toml, such as `lab`; separate several with commas.
      folder: the repository, relative to the folder in which pip runs.
      source: overrides `SOURCE`.

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
    """Returns the command that installs nbtf with an extra, for use in a message."""
    return f'pip install "{requirement(extra)}"' + ("" if SOURCE else ", in the folder of nbtf")
