"""What a device string means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple, Self

# The types that may stand without `device:` in front. Source: what TensorFlow 2.21 accepts on a machine of any kind.
SHORT_TYPES = frozenset({"CPU", "GPU", "TPU", "CUSTOM", "EPU"})

# All devices of one process share this task. TensorFlow calls a process without a cluster localhost.
LOCAL_TASK = "/job:localhost/replica:0/task:0"


class Fields(NamedTuple):
    """The five things a device string can say; None where it says nothing."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def merged_with(self, inner: Fields) -> Fields:
        """Returns what `inner` says, and what this says where `inner` is silent."""
        return Fields._make(
            outer_value if inner_value is None else inner_value
            for outer_value, inner_value in zip(self, inner, strict=True)
        )

    def to_string(self) -> str:
        """Returns the text form, `/job:worker/task:1/device:GPU:*`."""
        text = "" if self.job is None else f"/job:{self.job}"
        if self.replica is not None:
            text += f"/replica:{self.replica}"
        if self.task is not None:
            text += f"/task:{self.task}"
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return text


class DeviceSpec:
    """A device, described in part or in full; cannot be changed.

    Args:
      job: name of the job, a text.
      replica: number of the replica.
      task: number of the task.
      device_type: `"CPU"`, `"GPU"` or another type; `"cpu"` and `"gpu"` are made upper case.
      device_index: which one of its type; None for any.

    Raises:
      ValueError: a number is none.

    >>> tf.DeviceSpec(job="worker", device_type="GPU", device_index=1).to_string()
    '/job:worker/device:GPU:1'
    """

    __slots__ = ("_fields",)

    _fields: Fields

    def __init__(
        self,
        job: Any = None,
        replica: Any = None,
        task: Any = None,
        device_type: str | None = None,
        device_index: Any = None,
    ) -> None:
        self._fields = Fields(
            None if job is None else str(job),
            _number(replica),
            _number(task),
            _usual_case(device_type),
            _number(device_index),
        )

    @classmethod
    def from_string(cls, spec: str | None) -> Self:
        """Returns the spec that a device string describes.

        Args:
          spec: pieces separated by `/`, in any order: `job:NAME`, `replica:0`, `task:0` and one of `GPU`, `GPU:1`,
            `GPU:*`, `device:GPU:1`, `device:GPU:*`. Empty and None describe nothing.

        Raises:
          ValueError: a piece is none of these, there are two devices, or a number is none.

        >>> tf.DeviceSpec.from_string("/task:1/gpu:0").to_string()
        '/task:1/device:GPU:0'
        """
        return cls._of(parse(spec))

    def parse_from_string(self, spec: str | None) -> Self:
        """Returns a new spec from a device string; this one stays as it is."""
        return self.from_string(spec)

    def make_merged_spec(self, dev: DeviceSpec) -> Self:
        """Returns what `dev` says, and what this spec says where `dev` is silent.

        Type and index merge on their own: `CPU:1` merged with `GPU` is `GPU:1`.

        >>> outer = tf.DeviceSpec.from_string("/job:ps/CPU:1")
        >>> outer.make_merged_spec(tf.DeviceSpec(device_type="GPU")).to_string()
        '/job:ps/device:GPU:1'
        """
        # By name, not `dev._fields`: anything with these five attributes will do, and a text is an AttributeError.
        inner = Fields(dev.job, dev.replica, dev.task, dev.device_type, dev.device_index)
        return self._of(self._fields.merged_with(inner))

    def replace(self, **kwargs: Any) -> Self:
        """Returns a copy with some fields changed; None empties a field.

        >>> tf.DeviceSpec.from_string("/job:w/GPU:1").replace(device_index=0).to_string()
        '/job:w/device:GPU:0'
        """
        return self.__class__(**{**self._fields._asdict(), **kwargs})

    def to_string(self) -> str:
        """Returns the device string; `*` stands for a missing index, an index without a type is not printed."""
        return self._fields.to_string()

    @classmethod
    def _of(cls, fields: Fields) -> Self:
        spec = cls.__new__(cls)
        spec._fields = fields
        return spec

    @property
    def job(self) -> str | None:
        """The job's name, or None."""
        return self._fields.job

    @property
    def replica(self) -> int | None:
        """The replica's number, or None."""
        return self._fields.replica

    @property
    def task(self) -> int | None:
        """The task's number, or None."""
        return self._fields.task

    @property
    def device_type(self) -> str | None:
        """`"CPU"`, `"GPU"` or another type, or None."""
        return self._fields.device_type

    @property
    def device_index(self) -> int | None:
        """Which one of its type, or None for any."""
        return self._fields.device_index

    def __eq__(self, other: object) -> bool:
        """True for a spec of the same class with the same text; never for a text."""
        return (
            isinstance(other, DeviceSpec)
            and other.__class__ is self.__class__
            and other.to_string() == self.to_string()
        )

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"<DeviceSpec({', '.join(f'{name}={value}' for name, value in self._fields._asdict().items())})>"

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return self.__class__, tuple(self._fields)


@lru_cache(maxsize=4096)
def parse(text: str | None) -> Fields:
    """Returns what a device string says.

    Raises:
      ValueError: with TensorFlow's text; see `DeviceSpec.from_string`.
    """
    job = replica = task = device_type = device_index = None
    for piece in (text or "").split("/"):
        match piece.split(":"):
            case ["job", name]:
                job = name
            case ["replica", number]:
                replica = number
            case ["task", number]:
                task = number
            case [short, *index] if len(index) < 2 and short.upper() in SHORT_TYPES:
                _only_one(device_type, text)
                device_type, device_index = short.upper(), _index(text, *index)
            case ["device", long, index]:
                _only_one(device_type, text)
                device_type, device_index = long, _index(text, index)
            case ["", *_]:
                pass
            case attributes:
                raise ValueError(
                    f"Unknown attribute '{attributes[0]}' is encountered while parsing the device spec: '{text}'."
                )
    return Fields(job, _in_text(text, replica), _in_text(text, task), _usual_case(device_type), device_index)


def describe_tasks(names: Iterable[str]) -> str:
    """Returns which tasks some devices are of, job by job.

    Args:
      names: of devices, in full.

    >>> describe_tasks([full_name("CPU", 0)] + [full_name("GPU", 0, task_name("worker", task)) for task in range(3)])
    '/job:localhost/task:0, /job:worker/task:0 to task:2'
    """
    numbers: dict[str, list[int]] = {}
    for job, number in dict.fromkeys(split_task(task_of(name)) for name in names):
        numbers.setdefault(job, []).append(number)
    return ", ".join(
        f"/job:{job}/task:{min(tasks)}{f' to task:{max(tasks)}' if len(tasks) > 1 else ''}"
        for job, tasks in numbers.items()
    )


def full_name(device_type: str, index: int, task: str = LOCAL_TASK) -> str:
    """Returns the name of a device of this process or of another, `/job:localhost/replica:0/task:0/device:GPU:1`."""
    return f"{task}/device:{device_type}:{index}"


def task_name(job: str, number: int) -> str:
    """Returns the name of a task of a cluster, `/job:worker/replica:0/task:1`."""
    return f"/job:{job}/replica:0/task:{number}"


def split_task(task: str) -> tuple[str, int]:
    """Returns job and number of a task, of which this is the full name."""
    fields = parse(task)
    return fields.job or "", fields.task or 0


def task_of(name: str) -> str:
    """Returns the task in the full name of a device: what stands before `/device:`."""
    return name.partition("/device:")[0]


def without_cuda(text: str) -> str:
    """Returns a device string in which a GPU is not called `cuda:1`, as CuPy and PyTorch do, but `GPU:1`.

    `tf.device` takes TensorFlow's names alone; magics and `tf.runtime` take both.

    >>> tf.runtime.without_cuda("cuda:1")
    'GPU:1'

    Raises:
      TypeError: not a text.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f'A device is named by a text such as "GPU:0". Got {text!r}')
    return re.sub(r"(?:^|(?<=/))cuda(?=[:/]|$)", "GPU", text)


def short_name(name: str) -> str:
    """Returns the name people say: `GPU:1`, with job and task in front where these are not this process.

    Args:
      name: of a device, in full or in part. What names none stays as it is.

    Raises:
      TypeError: not a text.

    >>> tf.runtime.short_name("/job:localhost/replica:0/task:0/device:GPU:1")
    'GPU:1'
    >>> tf.runtime.short_name("/job:worker/replica:0/task:1/device:GPU:1")
    '/job:worker/task:1/GPU:1'
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users do give device objects
        raise TypeError(f'A device is named by a text such as "GPU:0". Got {name!r}')
    return _shortened(name)


@lru_cache(maxsize=4096)
def _shortened(name: str) -> str:
    try:
        fields = parse(name.removeprefix("/physical_device:"))
    except ValueError:
        return name
    if fields.device_type is None:
        return name
    task = Fields(fields.job, fields.replica or None, fields.task).to_string()
    index = "*" if fields.device_index is None else fields.device_index
    device = f"{fields.device_type}:{index}"
    return device if fields[:3] in ((None, None, None), _LOCAL_FIELDS) else f"{task}/{device}"


def devices_in(text: str) -> list[str]:
    """Returns the full names of devices that stand in a text."""
    return re.findall(r"/job:[^/\s]+/replica:\d+/task:\d+/device:\w+:\d+", text)


def _only_one(device_type: str | None, text: str | None) -> None:
    if device_type is not None:
        raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {text}.")


def _index(text: str | None, number: str = "*") -> int | None:
    return None if number == "*" else _in_text(text, number)


def _in_text(text: str | None, number: str | None) -> int | None:
    """Returns a number that stands in a device string."""
    try:
        return None if number is None else int(number)
    except ValueError as error:  # its text stays TensorFlow's, which is Python's
        error.add_note(f"A number was expected there in the device spec '{text}'.")
        raise


def _number(value: Any) -> int | None:
    try:
        return None if value is None else int(value)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def _usual_case(device_type: str | None) -> str | None:
    return device_type.upper() if device_type in ("cpu", "gpu") else device_type


_LOCAL_FIELDS = parse(LOCAL_TASK)[:3]
