"""The graph of TensorFlow 1 with all its abilities, for the files above `_graph`, for `nbtf` and for programs.

Files below this one import `session_graph.py`, because `Graph` uses their functions through `Abilities`.
"""

from __future__ import annotations

from nbtf.compat._v1._graph import custom_gradients, grouping, jacobians, taping
from nbtf.compat._v1._graph.session_graph import Graph as Graph
from nbtf.compat._v1._graph.session_graph import GraphDef as GraphDef
from nbtf.compat._v1._surface import everywhere
from nbtf.compat._v1._variables import variable_classes

ABILITIES = (custom_gradients, grouping, jacobians, taping, everywhere, variable_classes)
"""The files that set the abilities of graphs."""
