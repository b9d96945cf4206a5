"""The events of a recording, as plain data."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from nbtf._devices.base import Label as Label
from nbtf._devices.sites import Site as Site


class Rule(NamedTuple):
    """A placement rule that was tried: its name, its question and the answer.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording(), tf.device("GPU:1"):
    ...     c = tf.add(1.0, 2.0)
    >>> tf.runtime.explain_placement(c).path[0]
    Rule(rule='tf.device', question='What was asked for?', answer='GPU:1')
    """

    rule: str
    question: str
    answer: str


class _KindAndDetail(NamedTuple):
    kind: str
    detail: str = ""


class Reason(_KindAndDetail):
    """Why an op was placed on its device: a kind from `placement.KINDS`, and the detail it refers to.

    `path` lists the rules that were tried, in order; the last one decided. Paths do not affect equality.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording(), tf.device("GPU:7"):
    ...     c = tf.add(1.0, 2.0)
    >>> tf.runtime.explain_placement(c).reason
    Reason(kind='soft placement', detail='GPU:7')
    """

    path: tuple[Rule, ...] = ()

    def after(self, *path: Rule) -> Reason:
        """Returns the reason with the given rules as its path.

        >>> reason = tf.runtime.Reason("asked for").after(tf.runtime.Rule("tf.device", "What was asked for?", "GPU:1"))
        >>> reason == tf.runtime.Reason("asked for"), [rule.answer for rule in reason.path]
        (True, ['GPU:1'])
        """
        reason = Reason(self.kind, self.detail)
        reason.path = path
        return reason


class OutputSpec(NamedTuple):
    """Shape and dtype of a result, and its size in bytes.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.fill([1000], 1.0)
    >>> event = [event for event in record.events if isinstance(event, tf.runtime.OpExecuted)][-1]
    >>> event.outputs[0].shape, event.outputs[0].nbytes
    ((1000,), 4000)
    """

    shape: tuple[int, ...]
    dtype: str
    nbytes: int


class OpPlaced(NamedTuple):
    """An op is about to run; reported beforehand, so that a failing op still shows its device.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.fill([1000], 1.0)
    >>> event = [event for event in record.events if isinstance(event, tf.runtime.OpPlaced)][-1]
    >>> event.op, event.device, event.reason.kind
    ('Fill', '/job:localhost/replica:0/task:0/device:GPU:0', 'lowest-numbered GPU')
    """

    op: str
    device: str
    reason: Reason
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""


class OpExecuted(NamedTuple):
    """An op has run. `timing` is the meaning of `seconds`: `finished`, `launch`, `modelled` or `unknown`.

    `start` is in seconds since the recording began: modelled ones, or measured ones if a profiler's trace was read.
    It is None if only the end was measured.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.fill([1000], 1.0)
    >>> event = [event for event in record.events if isinstance(event, tf.runtime.OpExecuted)][-1]
    >>> event.op, event.timing, event.outputs
    ('Fill', 'modelled', (OutputSpec(shape=(1000,), dtype='float32', nbytes=4000),))
    """

    op: str
    device: str
    outputs: tuple[OutputSpec, ...]
    seconds: float
    timing: str
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    start: float | None = None


CopyKind: TypeAlias = Literal["upload", "move", "read"]


class Copied(NamedTuple):
    """Bytes were copied from one device to another.

    `kind` is `upload` for a Python value or an array that became a tensor, `move` for a tensor needed on another
    device, and `read` for values that the program read.
    `pinned` applies to a library's copy from or to host memory: whether that memory is page-locked, so that a GPU can
    copy it directly. None means unknown.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.constant(np.ones([1000], np.float32))
    >>> event = [event for event in record.events if isinstance(event, tf.runtime.Copied)][-1]
    >>> event.kind, event.nbytes, event.modelled
    ('upload', 4000, True)
    """

    source: str
    target: str
    nbytes: int
    seconds: float
    modelled: bool
    kind: CopyKind
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    start: float | None = None
    pinned: bool | None = None


class Allocated(NamedTuple):
    """A device allocated memory. Sizes are in bytes; `in_use` and `pool` (memory reserved) are the values afterwards.

    The program requested `nbytes`, and `size` bytes were charged, at `offset` in a region of `region_size` bytes. Both
    are -1 if the allocator does not expose addresses, as on real GPUs. `label` describes what the memory is for.
    `holder` is what will hold it, as far as that is known: one of `phases.HOLDERS`. `library` names the allocator's
    library, such as `PyTorch`; empty for nbtf. `in_use` and `pool` count that allocator alone.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.fill([1000], 1.0)
    >>> event = [event for event in record.events if isinstance(event, tf.runtime.Allocated)][-1]
    >>> event.nbytes, event.size, event.label.op
    (4000, 4096, 'Fill')
    """

    device: str
    nbytes: int
    in_use: int
    pool: int
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    region: int = -1
    offset: int = -1
    size: int = -1
    region_size: int = -1
    label: Label | None = None
    holder: str = ""
    library: str = ""


class Freed(NamedTuple):
    """A device freed memory; reported at the next check of the device, with that check's number and time.

    `in_use` and `pool` are the values afterwards. All other fields are those of the allocation.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.fill([1000], 1.0)
    ...     del x
    >>> event = [event for event in record.events if isinstance(event, tf.runtime.Freed)][-1]
    >>> event.nbytes, event.label.op
    (4000, 'Fill')
    """

    device: str
    nbytes: int
    in_use: int
    pool: int
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    region: int = -1
    offset: int = -1
    size: int = -1
    region_size: int = -1
    label: Label | None = None
    holder: str = ""
    library: str = ""


class Refused(NamedTuple):
    """A device could not allocate `nbytes`. `largest_free` is its largest free chunk, `limit` its memory limit.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     try:
    ...         x = tf.zeros([2**30])
    ...     except tf.errors.ResourceExhaustedError:
    ...         print("refused")
    refused
    >>> [event] = [event for event in record.events if isinstance(event, tf.runtime.Refused)]
    >>> event.nbytes, event.limit
    (4294967296, 837812224)
    """

    device: str
    nbytes: int
    in_use: int
    pool: int
    largest_free: int
    limit: int
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    label: Label | None = None
    holder: str = ""
    library: str = ""


TraceCause: TypeAlias = Literal["first", "arguments", "variables", "replica", "failure"]


class Traced(NamedTuple):
    """`tf.function` is about to trace a Python function: its code runs once with symbolic tensors and is then replayed.

    `trace` counts the function's traces from 1. `arguments` are short descriptions such as `x: float32[2, 3]`. The
    `cause` is one of five. `first` is the first trace. `arguments` means new arguments; `differences` lists each one's
    name, what it is, and what it was in the most similar trace. `variables` means that the previous trace created some.
    `replica` means that another replica or strategy runs the function. `failure` means that the previous trace failed.

    >>> @tf.function
    ... def double(x):
    ...     return tf.add(x, x)
    >>> with tf.runtime.recording() as record:
    ...     results = double(tf.constant(1.0)), double(tf.constant(1))
    >>> [(trace.trace, trace.cause) for trace in record.traces]
    [(1, 'first'), (2, 'arguments')]
    """

    function: str
    trace: int
    arguments: tuple[str, ...]
    cause: TraceCause
    differences: tuple[tuple[str, str, str], ...]
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""


Event: TypeAlias = OpPlaced | OpExecuted | Copied | Allocated | Freed | Refused | Traced
"""An event, as observers receive it and recordings store it: one of seven classes."""
