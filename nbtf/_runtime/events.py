"""What happened, as plain data."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from nbtf._devices.base import Label as Label
from nbtf._devices.sites import Site as Site


class Rule(NamedTuple):
    """A rule of placement that was tried: its name, what it asked, and the answer.

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
    """Why an op was placed where it was: a kind from `placement.KINDS`, and what it refers to.

    `path` has the rules that were tried, in order; the last one decided. Reasons are equal whatever their paths.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording(), tf.device("GPU:7"):
    ...     c = tf.add(1.0, 2.0)
    >>> tf.runtime.explain_placement(c).reason
    Reason(kind='soft placement', detail='GPU:7')
    """

    path: tuple[Rule, ...] = ()

    def after(self, *path: Rule) -> Reason:
        """Returns the reason with the rules that led to it.

        >>> reason = tf.runtime.Reason("asked for").after(tf.runtime.Rule("tf.device", "What was asked for?", "GPU:1"))
        >>> reason == tf.runtime.Reason("asked for"), [rule.answer for rule in reason.path]
        (True, ['GPU:1'])
        """
        reason = Reason(self.kind, self.detail)
        reason.path = path
        return reason


class OutputSpec(NamedTuple):
    """Shape, dtype and size of a result, in bytes.

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
    """An op is about to run; told before it does, so that a failing op still shows where it would have run.

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
    """An op has run. `timing` says what `seconds` are: `finished`, `launch` or `modelled`.

    `start` is when, in modelled seconds since the recording began; None where time is measured. See `clock.py`.

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
    """Bytes went from one device to another.

    `kind` says what they were: `upload`, a Python value or an array that became a tensor; `move`, a tensor that was
    wanted elsewhere; `read`, values that the program asked for.
    `pinned` tells of a library's copy from or to host memory whether that memory is locked, so that a card can copy it
    by itself; None where nobody tells.

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
    """A device gave memory. `in_use` and `pool`, what it has taken from its card, are as of afterwards; sizes in bytes.

    `nbytes` were asked for and `size` charged, at `offset` in a region that has `region_size`; these are -1 where the
    allocator keeps its places to itself, as that of real GPUs. `label` says what the memory is for, and `holder` what
    for as long as it lives, as far as that is known now: one of `phases.HOLDERS`. `library` is whose allocator gave it,
    such as `PyTorch`; empty for nbtf's own. What is in use and taken is of that allocator alone.

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
    """A device got memory back; told by the next look, with the number and the time of that.

    Everything else is that of the piece when it was allocated; `in_use` and `pool` are as of afterwards.

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
    """A device had no room for `nbytes`; `largest_free` is its largest free piece, `limit` the most it may take.

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
    """`tf.function` is about to trace a Python function: its code runs with symbolic tensors, and is replayed then.

    `trace` counts the traces of the function, from 1. `arguments` are in short words, such as `x: float32[2, 3]`. The
    cause is `first`; `arguments`, of which `differences` has those that are new: name, what it is, what it was in the
    trace that is most alike; `variables`, which the trace before made; `replica`, where another one or another strategy
    runs it; or `failure` of the trace before.

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
"""What observers are told, and what recordings have: one of the seven records."""
