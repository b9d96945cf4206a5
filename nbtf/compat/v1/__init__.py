"""`import nbtf.compat.v1 as tf`: TensorFlow 1, where ops build the default graph from the import on.

Importing this module switches to graphs: `nbtf.compat._v1`, which holds all names, checks whether the import
has happened. `tf.compat.v1` after `import nbtf as tf` has the same names but switches nothing.

>>> import nbtf.compat.v1 as tf1
>>> c = tf1.constant(1.0) + tf1.constant(2.0)
>>> c.op.type
'AddV2'
>>> tf1.Session().run(c)
np.float32(3.0)
"""

from __future__ import annotations

from typing import Any as _Any

from nbtf._runtime.aliases import AliasFinder as _AliasFinder
from nbtf.compat import _v1

_AliasFinder(f"{__name__}.", _v1.module_of).install()
_v1.forget()  # some names now resolve differently


def __getattr__(name: str) -> _Any:
    return getattr(_v1, name)


def __dir__() -> list[str]:
    return dir(_v1)
