"""Checks of a recording: whether ops ran where expected, and whether memory use stayed within limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from nbtf._counts import counted
from nbtf._devices.names import short_name, without_cuda
from nbtf._devices.sizes import gib
from nbtf._record.events import Copied, Event, OpPlaced, Reason, Site
from nbtf._record.recorder import Snapshot
from nbtf._runtime.arguments import check_number, check_several
from nbtf._runtime.inventory import devices, memory_map
from nbtf._runtime.placement import in_words, op_matches
from nbtf._runtime.scopes import merged

SiteDescriber: TypeAlias = Callable[[Site], str]
"""Describes a place in the code; returns an empty string if it is unknown."""


class ExpectationError(AssertionError):
    """Raised if a recording differs from what was expected; the message lists both, line by line.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> try:
    ...     record.expect("AddV2=GPU:1")
    ... except tf.runtime.ExpectationError as error:
    ...     print(str(error).splitlines()[2])
    + AddV2 on CPU:0: no GPU
    """

    def __init__(self, what: str, lines: Iterable[str]) -> None:
        """Stores the subject and the lines: `- ` marks what was expected, `+ ` what was seen."""
        self.what: str = what
        self.lines: tuple[str, ...] = tuple(lines)
        super().__init__(what, self.lines)

    def __str__(self) -> str:
        """Returns the comparison."""
        return "\n".join([f"{self.what} not as expected (- expected, + seen)", *self.lines])


# Placement


class _Rule(NamedTuple):
    """Ops whose type matches a pattern must run on a device, named by nbtf or by its own library."""

    pattern: str
    device: str
    devices: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.pattern} on {short_name(self.device)}"


def _rule(text: str) -> _Rule:
    pattern, _, device = (side.strip() for side in text.partition("="))
    try:
        name = merged(without_cuda(device), None).name if pattern and device else None
    except ValueError:
        name = None
    if name is None:
        raise ValueError(f"Invalid rule {text!r}. Expected OP=DEVICE, such as MatMul=GPU:1.")
    own_name = name.replace(":GPU:", ":cuda:") if without_cuda(device) != device else name
    return _Rule(pattern, name, (name, own_name))


def check_placement(
    snapshot: Snapshot,
    rules: Sequence[str],
    no_copies: bool,
    describe_site: SiteDescriber,
    unrecorded: Sequence[str] = (),
) -> None:
    """Checks where ops ran against rules.

    Args:
      snapshot: the recording.
      rules: rules of the form `OP=DEVICE`; the op may be a pattern such as `*MatMul`.
      no_copies: whether copies between devices fail the check as well.
      describe_site: returns the text for the line that placed an op.
      unrecorded: descriptions of work that was not recorded; the check fails if there is any.

    Raises:
      ExpectationError: if an op ran elsewhere, or an op that a rule names did not run.
      ValueError: if a rule is malformed.
    """
    lines: list[str] = []
    for rule in [_rule(text) for text in rules]:
        lines += _broken(rule, snapshot, describe_site)
    if no_copies:
        lines += _unwanted(snapshot, describe_site)
    if rules or no_copies:
        lines += _not_checked("placement", unrecorded)
    if lines:
        raise ExpectationError("placement is", lines)


def _not_checked(subject: str, sentences: Sequence[str]) -> list[str]:
    return (
        [f"- {subject} of everything that ran", *[f"+ not checked: {text}" for text in sentences]] if sentences else []
    )


def _broken(rule: _Rule, snapshot: Snapshot, describe_site: SiteDescriber) -> list[str]:
    matching = {key: count for key, count in snapshot.ops.items() if op_matches(key[0], rule.pattern)}
    wrong = {key: count for key, count in matching.items() if key[1] not in rule.devices}
    if not matching:
        ran = ", ".join(sorted({op for op, _, _ in snapshot.ops})) or "none"
        return [f"- {rule}", f"+ no {rule.pattern}; the ops that ran: {ran}"]
    lines = [f"- {rule}"] if wrong else []
    for (op, device, reason), count in wrong.items():
        explanation = in_words(op, device, reason).partition(": ")[2]
        lines.append(f"+ {op} on {_label(device)}{_times(count)}: {explanation}")
        line = describe_site(_first_site(snapshot, op, device, reason))
        lines += [f"    {line}"] if line else []
    return lines


def copies_of_tensors(events: Iterable[Event]) -> list[Copied]:
    """Returns the copies of tensors among events, without uploads and reads of Python values.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record, tf.device("GPU:1"):
    ...     x = tf.constant(np.ones([1000], np.float32))
    ...     with tf.device("GPU:0"):
    ...         y = tf.negative(x)
    >>> len(record.copies), [copy.nbytes for copy in tf.runtime.copies_of_tensors(record.events)]
    (2, [4000])
    """
    several = check_several(events, "events", "events of a recording")
    return [event for event in several if isinstance(event, Copied) and event.kind == "move"]


def _unwanted(snapshot: Snapshot, describe_site: SiteDescriber) -> list[str]:
    sites: dict[tuple[str, str], Site] = {}
    for copy in copies_of_tensors(snapshot.events):
        sites.setdefault((copy.source, copy.target), copy.site)
    lines = ["- no copies"] if snapshot.moves else []
    for route, count in snapshot.moves.items():
        source, target = map(_label, route)
        lines.append(
            f"+ {counted(count, 'copy', 'copies')} from {source} to {target}, {exact(snapshot.moved_bytes[route])}"
        )
        line = describe_site(sites.get(route))
        lines += [f"    {line}"] if line else []
    return lines


def _first_site(snapshot: Snapshot, op: str, device: str, reason: Reason) -> Site:
    key = (op, device, reason)
    placed = (event for event in snapshot.events if isinstance(event, OpPlaced))
    return next((event.site for event in placed if (event.op, event.device, event.reason) == key), None)


def _times(count: int) -> str:
    return "" if count == 1 else f", {count} times"


def _label(device: str) -> str:
    short = short_name(device)
    return f"{short} (simulated)" if any(info.name == short and info.simulated for info in devices()) else short


# Memory


class MemoryUse(NamedTuple):
    """How a block used the memory of a GPU, in bytes, as the allocator counts it.

    `library` names the allocator's library; empty for nbtf. `note` explains a peak that is not the block's own.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.fill([1000], 1.0)
    >>> [use] = record.memory
    >>> use.label, use.peak, use.kept
    ('GPU:0 (simulated)', 5632, 4096)
    """

    device: str
    simulated: bool
    before: int
    peak: int
    after: int
    library: str = ""
    note: str = ""

    @property
    def kept(self) -> int:
        """How many more bytes are in use after the block than before; negative if it freed memory.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> [use] = record.memory
        >>> del x
        >>> use.kept, record.memory[0].kept
        (4096, 4096)
        """
        return self.after - self.before

    @property
    def label(self) -> str:
        """The device with a remark in parentheses: `GPU:0 (simulated)`, `cuda:0 (PyTorch)`.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> [use] = record.memory
        >>> use.label
        'GPU:0 (simulated)'
        """
        remark = self.library or ("simulated" if self.simulated else "")
        return f"{self.device} ({remark})" if remark else self.device


class Account(NamedTuple):
    """Bytes in use on a GPU, and the peak since it was last reset."""

    in_use: int
    peak: int


def accounts() -> dict[str, Account]:
    """Returns the account of each GPU that has one."""
    return {
        device.name: Account(device.in_use, device.peak or device.in_use)
        for device in devices()
        if device.in_use is not None
    }


def memory_use(
    snapshot: Snapshot, accounts_before: Mapping[str, Account], accounts_after: Mapping[str, Account]
) -> list[MemoryUse]:
    """Returns how each GPU's memory use changed between two readings of the accounts."""
    simulated = {device.name for device in devices() if device.simulated}
    recorded_peaks = {short_name(device): peak for device, peak in snapshot.peaks.items()}
    used: list[MemoryUse] = []
    for name, (at_end, peak) in accounts_after.items():
        start, old_peak = accounts_before.get(name) or (_scratch(name), 0)
        reached = peak if peak != old_peak else 0  # a failed op makes no event, but moves the device's own peak
        used.append(
            MemoryUse(name, name in simulated, start, max(start, at_end, reached, recorded_peaks.get(name, 0)), at_end)
        )
    return used


def _scratch(name: str) -> int:
    """Returns the size of the TensorFlow scratch buffer: the whole use of a device that the block itself started."""
    try:
        regions = memory_map(name)
    except ValueError:
        return 0
    return sum(
        chunk.size for region in regions for chunk in region.chunks if chunk.label and chunk.label.op == "scratch"
    )


_UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}


def size_in_bytes(size: int | str) -> int:
    """Returns a size in bytes.

    >>> [tf.runtime.size_in_bytes(size) for size in ("1.5 KiB", "768", 0)]
    [1536, 768, 0]

    Raises:
      ValueError: if `size` is not a valid size.
    """
    size_match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", str(size).strip(), re.ASCII)
    if size_match is None or size_match[2].lower() not in _UNITS:
        raise ValueError(f'Invalid size "{size}". Expected a number of bytes, or a size such as 512MiB or 1.5GiB.')
    return int(float(size_match[1]) * _UNITS[size_match[2].lower()])


def check_memory(
    uses: Sequence[MemoryUse], at_most: int | str | None, at_most_kept: int | str | None, unmeasured: Sequence[str] = ()
) -> None:
    """Checks the memory use of each GPU against limits.

    If several libraries use one GPU, their peaks are added, although they may have occurred at different times.

    Args:
      uses: the memory use of each GPU and library.
      at_most: the highest allowed peak; None for no limit.
      at_most_kept: how much more memory may be in use afterwards; None for no limit.
      unmeasured: descriptions of memory that was not measured; the check fails if there is any.

    Raises:
      ExpectationError: if a peak exceeds `at_most`, more than `at_most_kept` stayed in use, or memory was not measured.
      ValueError: if a size is malformed.
    """
    lines: list[str] = []
    for bound, word in ((at_most, "peak"), (at_most_kept, "kept")):
        limit = None if bound is None else size_in_bytes(bound)
        for use in _by_card(uses):
            measured = use.peak if word == "peak" else use.kept
            if limit is not None and measured > limit:
                note = f" ({use.note})" if use.note and word == "peak" else ""
                lines += [
                    f"- {use.label}: {word} at most {exact(limit)}",
                    f"+ {use.label}: {word} {exact(measured)}{note}",
                ]
    if at_most is not None or at_most_kept is not None:
        lines += _not_checked("memory", unmeasured)
    if lines:
        raise ExpectationError("memory is", lines)


def _by_card(uses: Sequence[MemoryUse]) -> list[MemoryUse]:
    """Returns the uses; a GPU whose memory several libraries use has one entry with their sum."""
    cards = {device.name: f"cuda:{device.cuda}" for device in devices() if device.cuda is not None}
    groups: dict[str, list[MemoryUse]] = {}
    for use in uses:
        groups.setdefault(cards.get(use.device, use.device), []).append(use)
    result: list[MemoryUse] = []
    for card, group in groups.items():
        if len(group) == 1 or not any(use.library for use in group):
            result += group
            continue
        total_before, peak, total_after = (sum(sizes) for sizes in zip(*[use[2:5] for use in group], strict=True))
        libraries = " and ".join(use.library or "nbtf" for use in group)
        notes = "; ".join(filter(None, (use.note for use in group)))
        result.append(MemoryUse(card, False, total_before, peak, total_after, libraries, notes))
    return result


def exact(nbytes: int) -> str:
    """Returns a size with its exact number of bytes: `2,048 B`, or `1.5 MiB (1,572,864 B)` from 1 MiB on.

    >>> tf.runtime.exact(2048), tf.runtime.exact(1572864)
    ('2,048 B', '1.5 MiB (1,572,864 B)')
    """
    check_number(nbytes, "nbytes")
    digits = f"{nbytes:,} B"
    sign = "-" if digits.startswith("-") else ""
    return f"{sign}{gib(abs(nbytes))} ({digits})" if abs(nbytes) >= 1 << 20 else digits
