"""The two kinds of variables; importing this module registers both with `Variable`."""

from __future__ import annotations

from nbtf.compat._v1._variables.reference import RefVariable as RefVariable
from nbtf.compat._v1._variables.resource import ResourceVariable as ResourceVariable
from nbtf.compat._v1._variables.variable import Variable as Variable
