"""Which version of nbtf is this, and where is it installed from? The single source for messages, lessons and pages."""

from __future__ import annotations

import os

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
    """Returns the command that installs nbtf with an extra, for use in a message.

    It names the source of the installed package; in a checkout of the repository, its folder.
    """
    source = SOURCE or installed_from(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return f'pip install "{requirement(extra, source=source)}"' + ("" if source else ", in the folder of nbtf")


def installed_from(folder: str) -> str:
    """Returns where an installer found the package: an address, or `nbtf` if an index has it; empty in a checkout.

    Args:
      folder: the folder that contains the package and, if it was installed there, what the installer wrote about it.
    """
    import json  # imported late: few programs need the message

    about = os.path.join(folder, f"nbtf-{VERSION}.dist-info")
    try:
        with open(os.path.join(about, "direct_url.json"), encoding="utf-8") as file:
            origin = json.load(file)
    except FileNotFoundError:
        return INDEX if os.path.isdir(about) else ""
    except (OSError, ValueError):
        return ""
    if "vcs_info" not in origin:  # a file or a folder, see PEP 610
        return str(origin["url"])
    revision = origin["vcs_info"].get("requested_revision")
    return f"{origin['vcs_info']['vcs']}+{origin['url']}" + (f"@{revision}" if revision else "")
