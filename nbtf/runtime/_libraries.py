"""Which array libraries does this process use beside nbtf?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtf._frameworks.base import Framework


def frameworks() -> list[Framework]:
    """Returns the array libraries that this process has imported (PyTorch, CuPy, JAX), each with what it tells.

    A library has a `name` and tells its `cards()`, its `pools()` of memory on them in bytes, and what its `arrays()`
    are. A look: it imports nothing and starts no card.

    >>> [library.name for library in tf.runtime.frameworks() if library.module_name == "no such library"]
    []
    """
    from nbtf._frameworks import frameworks as imported  # late: `import nbtf` does without it

    return imported()
