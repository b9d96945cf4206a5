"""The private names of TensorFlow that its watch needs; the only file that looks them up."""

from __future__ import annotations

import sys
from typing import Any, Final, NamedTuple

RELEASES: Final = "2.18 to 2.21"
"""The releases that were tried. Earlier ones need an older NumPy than nbtf."""

_MODULES: Final = {
    "tensorflow.python.pywrap_tfe": (
        "TFE_Py_FastPathExecute",
        "TFE_Py_Execute",
        "TFE_Py_ExecuteCancelable",
        "TFE_Py_UID",
        "TFE_Py_TapeSetIsEmpty",
        "TFE_ClearScalarCache",
    ),
    "tensorflow.python.eager.context": ("context", "Context"),
    "tensorflow.python.eager.core": ("_FallbackException", "_NotOkStatusException"),
    "tensorflow.python.framework.constant_op": ("convert_to_eager_tensor",),
    "tensorflow.python.framework.dtypes": ("as_dtype",),
    "tensorflow.python.framework.kernels": ("get_registered_kernels_for_op",),
    "tensorflow.python.framework.op_def_registry": ("get",),
    "tensorflow.python.framework.ops": ("EagerTensor", "get_default_graph"),
    "tensorflow.python.ops.resource_variable_ops": ("BaseResourceVariable",),
    "tensorflow.python.client.pywrap_tf_session": ("TF_SessionRun_wrapper",),
}
_OF_CONTEXTS: Final = (
    "enable_graph_collection",
    "export_run_metadata",
    "get_function_def",
    "list_function_names",
    "add_op_callback",
    "op_callbacks",
    "device_name",
    "executing_eagerly",
    "has_function",
)
_OF_TENSORS: Final = ("_id", "_datatype_enum", "backing_device", "device", "_shape_tuple")


class Internals(NamedTuple):
    """TensorFlow's private modules."""

    pywrap: Any
    context: Any
    core: Any
    constants: Any
    dtypes: Any
    kernels: Any
    op_defs: Any
    ops: Any
    variables: Any
    sessions: Any


def missing_names() -> list[str]:
    """Returns the names that the imported TensorFlow lacks."""
    missing: list[str] = []
    for module, names in _MODULES.items():
        loaded = sys.modules.get(module)
        missing += [f"{module}.{name}" for name in names if not hasattr(loaded, name)]
    if not missing:
        context_class: Any = sys.modules["tensorflow.python.eager.context"].Context
        tensor_class: Any = sys.modules["tensorflow.python.framework.ops"].EagerTensor
        missing += [f"Context.{name}" for name in _OF_CONTEXTS if not hasattr(context_class, name)]
        missing += [f"EagerTensor.{name}" for name in _OF_TENSORS if not hasattr(tensor_class, name)]
    return missing


def can_watch() -> bool:
    """Returns whether the imported TensorFlow has all names."""
    return not missing_names()


def internals() -> Internals:
    """Returns the private modules of the imported TensorFlow.

    Raises:
      RuntimeError: if it lacks a name.
    """
    missing = missing_names()
    if missing:
        version = getattr(sys.modules.get("tensorflow"), "__version__", "?")
        raise RuntimeError(
            f"TensorFlow {version} cannot be watched, because it has no {missing[0]}. "
            f"nbtf can watch TensorFlow {RELEASES}."
        )
    return Internals(*[sys.modules[module] for module in _MODULES])
