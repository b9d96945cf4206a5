"""Explains where a tensor is stored, and why the op that made it was placed there."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf._devices.base import Device
from nbtf._devices.names import short_name
from nbtf._devices.sites import WORDING
from nbtf._displayed import Drawn, is_in_ipython
from nbtf._own_name import own_name
from nbtf._record.events import OpPlaced, Reason, Rule, Site
from nbtf._record.recorder import Recorder
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.inventory import devices
from nbtf._runtime.placement import in_words


class Explanation(NamedTuple):
    """Where a tensor is stored, and why; prints as text, and as a table in a notebook.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording():
    ...     c = tf.add(1.0, 2.0)
    >>> explanation = tf.runtime.explain_placement(c)
    >>> explanation.op, explanation.label, explanation.why
    ('AddV2', 'GPU:0 (simulated Tesla K20m)', 'lowest-numbered GPU')
    """

    device: str
    label: str
    shape: tuple[int, ...]
    dtype: str
    op: str | None = None
    reason: Reason | None = None
    site: Site = None
    recorded: bool = False

    @property
    def why(self) -> str:
        """The reason as text.

        >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
        2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording(), tf.device("GPU:7"):
        ...     c = tf.add(1.0, 2.0)
        >>> tf.runtime.explain_placement(c).why
        'asked for GPU:7, soft placement'
        """
        if self.op is None or self.reason is None:
            if self.recorded:
                return "the recording of its creation is no longer available"
            return f"it was created outside a recording; use %load_ext nbtf or {own_name()}.runtime.recording()"
        return in_words(self.op, self.device, self.reason).partition(": ")[2]

    @property
    def path(self) -> tuple[Rule, ...]:
        """The placement rules that were tried, in order; the last one decided.

        >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
        2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording(), tf.device("GPU:7"):
        ...     c = tf.add(1.0, 2.0)
        >>> [f"{rule.rule}: {rule.answer}" for rule in tf.runtime.explain_placement(c).path]
        ['tf.device: GPU:7', 'machine: no: GPU:0 to GPU:1', 'soft placement: yes', 'lowest-numbered GPU: GPU:0']
        """
        return () if self.reason is None else self.reason.path

    def _lines(self) -> list[tuple[str, str]]:
        lines = [
            ("tensor", f"{list(self.shape)} {self.dtype}"),
            ("device", self.label),
            ("made by", self.op or "unknown"),
            ("why there", self.why),
        ]
        if len(self.path) > 2:
            lines.append(("decision", " → ".join(f"{step.rule}: {step.answer}" for step in self.path)))
        return lines + ([("code", WORDING.describe(self.site))] if self.site else [])

    def __str__(self) -> str:
        """Returns one line for each known fact."""
        return "\n".join(f"{key + ':':<11}{text}" for key, text in self._lines())

    def __repr__(self) -> str:
        """Returns the text."""
        return str(self)

    # A tuple with names has no other base class.
    _repr_mimebundle_ = Drawn._repr_mimebundle_
    _repr_svg_ = Drawn._repr_svg_

    def _repr_html_(self) -> str | None:
        """Returns a small HTML table, below a picture if there is one; None in IPython, which shows the picture."""
        if self.path and is_in_ipython():
            return None
        picture = Drawn._repr_html_(self) if self.path else ""  # pyright: ignore[reportArgumentType]
        import html  # imported late: it loads a table of two thousand names

        rows = "".join(
            f"<tr><th style='text-align:left'>{key}</th><td style='text-align:left'>{html.escape(text)}</td></tr>"
            for key, text in self._lines()
        )
        return f"{picture}<table>{rows}</table>"


def explain_placement(tensor: Any) -> Explanation:
    """Returns where a tensor is stored and why the op that made it was placed there.

    Args:
      tensor: a tensor or a variable; a graph's tensor must have been computed by a session during a recording.

    Raises:
      TypeError: if `tensor` is neither a tensor nor a variable.
      ValueError: if it belongs to a graph and no recorded session run computed it.

    >>> with tf.runtime.recording():
    ...     c = tf.add(1.0, 2.0)
    >>> tf.runtime.explain_placement(c).why
    'no GPU'
    """
    context = CURRENT.context
    device = getattr(tensor, "_device", None)
    if not isinstance(device, Device):
        if not hasattr(tensor, "graph") or not hasattr(tensor, "op"):
            raise TypeError(f"`tensor` must be a tensor or a variable. Got {type(tensor)}.")
        return _of_node(context, tensor)
    facts = (device.name, _label(device.name), tuple(tensor.shape), tensor.dtype.name)
    seq: int = getattr(tensor, "_seq", 0)
    placed = _placed(context, seq)
    if placed is None:
        return Explanation(*facts, recorded=seq != 0)
    return Explanation(*facts, placed.op, placed.reason, placed.site, True)


def _of_node(context: Context, tensor: Any) -> Explanation:
    """Explains a graph's tensor by the session run that last computed it."""
    node: str = tensor.op.name
    for recorder in _recorders(context):
        placed = recorder.placed_node(node)
        if placed is not None:
            shape = () if tensor.shape.rank is None else tuple(tensor.shape)
            facts = (placed.device, _label(placed.device), shape, tensor.dtype.name)
            return Explanation(*facts, f"{node} ({placed.op})", placed.reason, placed.site, True)
    raise ValueError(
        f"No recorded session run computed node '{node}'. Run it during a recording: use %load_ext nbtf or "
        f"{own_name()}.runtime.recording()."
    )


def _label(device: str) -> str:
    short = short_name(device)
    return next((d.label for d in devices() if d.name == short), short)


def _recorders(context: Context) -> list[Recorder]:
    listening = [recorder for _, recorder in context.observers.note_takers]
    return [*filter(None, (*listening, context.last_recorder))]


def _placed(context: Context, seq: int) -> OpPlaced | None:
    """Returns the recorded placement with a given event number; tensors made outside a recording have 0."""
    for recorder in _recorders(context) if seq else ():
        placed = recorder.placed_before(seq)
        if placed is not None:
            return placed
    return None
