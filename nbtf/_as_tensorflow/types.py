"""`tf.types`: names for the types of functions and of values in a strategy, which Keras' export and tests compare."""

from __future__ import annotations

from types import SimpleNamespace

from nbtf._graph.function import Function
from nbtf.distribute.values import Mirrored, PerReplica

experimental = SimpleNamespace(
    GenericFunction=Function, distributed=SimpleNamespace(Mirrored=Mirrored, PerReplica=PerReplica)
)
