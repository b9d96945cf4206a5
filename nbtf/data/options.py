"""Options of a pipeline. All are stored and can be read; none has an effect, because nothing needs tuning in nbtf."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar


class AutoShardPolicy(IntEnum):
    """How a dataset is divided among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class AutotuneAlgorithm(IntEnum):
    """How TensorFlow would tune a pipeline."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(IntEnum):
    """How state outside a pipeline is treated when the pipeline is saved."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Properties:
    """Properties with fixed names and types; None means unset."""

    _classes: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        for name, property_class in self._classes.items():
            object.__setattr__(
                self, name, property_class() if issubclass(property_class, _Properties) else self._first(name)
            )

    @staticmethod
    def _first(name: str) -> Any:
        return AutoShardPolicy.AUTO if name == "auto_shard_policy" else None

    def __setattr__(self, name: str, value: Any) -> None:
        property_class = self._classes.get(name)
        if property_class is None:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        if value is not None and not isinstance(value, property_class):
            text = f'Property "{name}" must be of type {property_class}, got: {value} (type: {type(value)})'
            raise TypeError(text)
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def merge_with(self, overriding: Any) -> Any:
        """Returns the properties of both; those set in the second take precedence."""
        result = type(self)()
        for name, property_class in self._classes.items():
            base_value, overriding_value = getattr(self, name), getattr(overriding, name)
            if issubclass(property_class, _Properties):
                value = base_value.merge_with(overriding_value)
            else:
                value = base_value if overriding_value == self._first(name) else overriding_value
            object.__setattr__(result, name, value)
        return result


class AutotuneOptions(_Properties):
    """Limits of tuning: `enabled`, `cpu_budget`, `ram_budget`, `autotune_algorithm`."""

    _classes: ClassVar[dict[str, Any]] = {
        "enabled": bool,
        "cpu_budget": int,
        "ram_budget": int,
        "autotune_algorithm": AutotuneAlgorithm,
        "initial_parallelism": int,
        "min_parallelism": int,
    }


class DistributeOptions(_Properties):
    """How a dataset is divided: `auto_shard_policy`, `num_devices`."""

    _classes: ClassVar[dict[str, Any]] = {"auto_shard_policy": AutoShardPolicy, "num_devices": int}


class OptimizationOptions(_Properties):
    """The requested optimizations of a pipeline."""

    _classes: ClassVar[dict[str, Any]] = dict.fromkeys(
        (
            "apply_default_optimizations",
            "filter_fusion",
            "filter_parallelization",
            "inject_prefetch",
            "map_and_batch_fusion",
            "map_and_filter_fusion",
            "map_fusion",
            "map_parallelization",
            "noop_elimination",
            "parallel_batch",
            "seq_interleave_prefetch",
            "shuffle_and_repeat_fusion",
            "warm_start",
        ),
        bool,
    )


class ThreadingOptions(_Properties):
    """Number of threads for a pipeline: `max_intra_op_parallelism`, `private_threadpool_size`."""

    _classes: ClassVar[dict[str, Any]] = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


class Options(_Properties):
    """Options of a dataset, for `Dataset.with_options`.

    All options are stored and can be read, but have no effect: a pipeline runs in the calling thread and in a fixed
    order.

    >>> options = tf.data.Options()
    >>> options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    >>> tf.data.Dataset.range(3).with_options(options).options() == options
    True
    """

    _classes: ClassVar[dict[str, Any]] = {
        "autotune": AutotuneOptions,
        "dataset_name": str,
        "deterministic": bool,
        "experimental_deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": ExternalStatePolicy,
        "experimental_optimization": OptimizationOptions,
        "experimental_slack": bool,
        "experimental_symbolic_checkpoint": bool,
        "experimental_threading": ThreadingOptions,
        "experimental_warm_start": bool,
        "framework_type": list,
        "threading": ThreadingOptions,
    }

    def merge(self, options: Options) -> Options:
        """Returns the options of both; those set in the second take precedence."""
        return self.merge_with(options)
