"""Where do ops without a device run, and how are places and code lines written?"""

from __future__ import annotations

from collections.abc import Callable

from nbtf._devices.sites import WORDING
from nbtf._record.events import Site
from nbtf._runtime.arguments import unexpected
from nbtf._runtime.context import CURRENT
from nbtf._runtime.log_styles import STYLES


def set_default_device(name: str | None) -> None:
    """Sets the device for ops outside `tf.device`; None restores TensorFlow's rule.

    Args:
      name: a device string as for `tf.device`, or `cuda:1` for `GPU:1`; missing parts are those of CPU:0.

    Raises:
      ValueError: if `name` is not a device string.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> tf.runtime.set_default_device("GPU:1")
    >>> tf.constant(1.0).device
    '/job:localhost/replica:0/task:0/device:GPU:1'
    >>> tf.runtime.set_default_device(None)
    """
    CURRENT.context.set_default_device(name)


def get_default_device() -> str | None:
    """Returns the full name of the device set by `set_default_device`; None if TensorFlow's rule applies.

    >>> tf.runtime.set_default_device("CPU:0")
    >>> tf.runtime.get_default_device()
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    request = CURRENT.context.settings.default_device
    return None if request is None else request.name


def cell_device(name: str) -> Callable[[], None]:
    """Makes a device the outermost `tf.device` of this thread until the returned function is called.

    Meant for front ends: unlike a `with` block, it lasts across the separate parts of a notebook cell.

    Args:
      name: a device string as for `tf.device`, or `cuda:1` for `GPU:1`.

    Returns:
      The undo function, which may also be called from another thread and after a restart.

    Raises:
      TypeError: if `name` is not a string.
      ValueError: if `name` is not a device string; nothing has changed.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> undo = tf.runtime.cell_device("GPU:1")
    >>> tf.constant(1.0).device
    '/job:localhost/replica:0/task:0/device:GPU:1'
    >>> undo()
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users pass device objects
        raise TypeError(f'cell_device takes a device string such as "GPU:1", got {name!r}')
    return CURRENT.context.set_cell_device(name)


def placement_log_style(style: str | None = None) -> str | None:
    """Sets the format in which sessions print the placement of nodes; formats are named after TensorFlow releases.

    It applies to `tf.compat.v1` sessions with `log_device_placement` and can be changed at any time. Old formats name a
    simulated card as that release would have named a real one.

    Args:
      style: `"2.21"`: the current format. `"1.4"`: that of 1.4 to 1.15, with nodes in the order in which a graph was
        rebuilt. `"1.0"`: that of 1.0 to 1.3, with devices spelled `/gpu:0`. `"0.12"`: that of 0.5 to 0.12, without op
        types. None changes nothing.

    Returns:
      The current style if `style` is None, otherwise None.

    Raises:
      ValueError: if the style is unknown.

    >>> tf.runtime.placement_log_style("0.12")
    >>> tf.runtime.placement_log_style()
    '0.12'
    >>> tf.runtime.placement_log_style("2.21")
    """
    context = CURRENT.context
    if style is None:
        return context.settings.placement_log_style
    if style not in [*STYLES]:
        raise ValueError(f"Unknown placement log style {style!r}. Expected one of {', '.join(map(repr, STYLES))}.")
    context.settings.placement_log_style = style
    return None


def tell_code_lines(describe: Callable[[Site], str]) -> Callable[[], None]:
    """Changes how errors and explanations describe code lines, until the returned function is called.

    Meant for front ends: a notebook shows `cell 4, line 2` in place of the name of a generated file.

    Args:
      describe: function that receives a file and line, or None, and returns text.

    Returns:
      The undo function.

    Raises:
      TypeError: if `describe` is not a function.

    >>> undo = tf.runtime.tell_code_lines(lambda site: "step 3")
    >>> with tf.runtime.recording():
    ...     c = tf.add(1.0, 2.0)
    >>> str(tf.runtime.explain_placement(c)).splitlines()[-1]
    'code:      step 3'
    >>> undo()
    """
    if not callable(describe):
        raise unexpected(describe, "describe", "a function that receives a line of code and returns text")
    previous = WORDING.describe
    WORDING.describe = describe

    def undo() -> None:
        if WORDING.describe is describe:
            WORDING.describe = previous

    return undo
