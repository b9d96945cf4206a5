"""All ops: the table fills as families are loaded, so here all of them are."""

from __future__ import annotations

import importlib
import pkgutil

import nbtf._ops
from nbtf._ops.op import OPS as OPS

for _module in pkgutil.walk_packages(nbtf._ops.__path__, "nbtf._ops."):
    importlib.import_module(_module.name)
