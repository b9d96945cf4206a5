"""What to write instead of a name that is not here: TensorFlow 1's names, and those that moved."""

from __future__ import annotations

from collections.abc import Sequence

_TF1 = frozenset(
    "Session InteractiveSession ConfigProto GPUOptions GraphOptions RunOptions placeholder placeholder_with_default "
    "global_variables_initializer local_variables_initializer initialize_all_variables tables_initializer "
    "get_variable variable_scope get_variable_scope assign assign_add assign_sub get_default_graph "
    "get_default_session reset_default_graph global_variables trainable_variables local_variables get_collection "
    "add_to_collection GraphKeys Print layers losses app flags logging gfile python_io set_random_seed "
    "enable_eager_execution disable_v2_behavior disable_eager_execution to_float to_int32 to_int64 to_double "
    "mul sub neg pack unpack sparse_placeholder py_func truncated_normal random_normal random_uniform".split()
)
"""Names of TensorFlow 1 that `compat.v1` has."""

_NOT_YET = frozenset[str]()
"""Names of today that programs start with, and that come later."""

_TODAY = {
    "mul": "tf.multiply",
    "sub": "tf.subtract",
    "neg": "tf.negative",
    "pack": "tf.stack",
    "unpack": "tf.unstack",
    "log": "tf.math.log",
    "to_float": "tf.cast(x, tf.float32)",
    "to_double": "tf.cast(x, tf.float64)",
    "to_int32": "tf.cast(x, tf.int32)",
    "to_int64": "tf.cast(x, tf.int64)",
    "random_normal": "tf.random.normal",
    "random_uniform": "tf.random.uniform",
    "truncated_normal": "tf.random.truncated_normal",
    "random_shuffle": "tf.random.shuffle",
    "set_random_seed": "tf.random.set_seed",
    "assign": "variable.assign(value)",
    "assign_add": "variable.assign_add(value)",
    "assign_sub": "variable.assign_sub(value)",
    "Print": "tf.print",
    "ceil": "tf.math.ceil",
    "is_nan": "tf.math.is_nan",
    "lgamma": "tf.math.lgamma",
    "layers": "tf.keras.layers",
    "losses": "tf.keras.losses",
    "gfile": "Python's own files",
    "py_func": "tf.py_function",
    "placeholder": "a function argument",
    "Session": "nothing: ops run at once",
    "global_variables_initializer": "nothing: variables have their value at once",
}
"""Today's names of things that were renamed."""


def explanation(name: str) -> str:
    """Returns the text of the AttributeError for a name of the root namespace."""
    text = f"module 'nbtf' has no attribute '{name}'"
    if name == "contrib":
        return (
            f"{text}. tf.contrib ended with TensorFlow 1; its parts live on as tf.keras, tf.distribute and tf.data, "
            "or in libraries of their own."
        )
    if name in _NOT_YET:
        return f"{text}. It is not in nbtf yet."
    today = f"Today's name: {_TODAY[name]}." if name in _TODAY else ""
    if name in _TF1:
        return f"{text}. It belongs to TensorFlow 1: write `import nbtf.compat.v1 as tf`. {today}".rstrip()
    return f"{text}. {today}".rstrip(". ") + ("." if today else "")


def of_namespace(module: str, name: str, offered: Sequence[str]) -> str:
    """Returns the text of the AttributeError for a name of a namespace of which nbtf has only a part."""
    return f"module '{module}' has no attribute '{name}'. It has: {', '.join(sorted(offered))}."
