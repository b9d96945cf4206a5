"""Under which name does the user's program know nbtf? For messages with a line to type."""

from __future__ import annotations

import sys
from typing import Any


def own_name() -> str:
    """Returns the name of nbtf in the user's program or notebook.

    That is `tf` if the program has imported nbtf under this name, otherwise any name that it has given to nbtf. Without
    one it is `nbtf` if the program's `tf` is something else, such as TensorFlow, and `tf` if the program has no `tf`.
    """
    names: dict[str, Any] = getattr(sys.modules.get("__main__"), "__dict__", {})
    package = sys.modules[__name__.partition(".")[0]]
    own_names = [name for name, value in list(names.items()) if value is package and not name.startswith("_")]
    if "tf" in own_names or ("tf" not in names and not own_names):
        return "tf"
    return own_names[0] if own_names else "nbtf"
