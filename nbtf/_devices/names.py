"""The meaning of device strings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple, Self

# Types that may be written without `device:`. Source: what TensorFlow 2.21 accepts on any machine.
SHORT_TYPES = frozenset({"CPU", "GPU", "TPU", "CUSTOM", "EPU"})

# All devices of one process share this task. Without a cluster, TensorFlow calls the process localhost.
LOCAL_TASK = "/job:localhost/replica:0/task:0"


class Fields(NamedTuple):
    """The five parts of a device string; None for a part that the string leaves open."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def merged_with(self, inner: Fields) -> Fields:
        """Returns the fields of `inner`; where `inner` has None, those of `self`."""
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
    """A full or partial description of a device; immutable.

    Args:
      job: name of the job.
      replica: number of the replica.
      task: number of the task.
      device_type: `"CPU"`, `"GPU"` or another type; `"cpu"` and `"gpu"` are made upper case.
      device_index: index among the devices of its type; None for any.

    Raises:
      ValueError: if a number is invalid.

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
          spec: parts separated by `/`, in any order: `job:NAME`, `replica:0`, `task:0` and one of `GPU`, `GPU:1`,
            `GPU:*`, `device:GPU:1`, `device:GPU:*`. An empty string or None describes nothing.

        Raises:
          ValueError: if a part is none of these, two parts name a device, or a number is invalid.

        >>> tf.DeviceSpec.from_string("/task:1/gpu:0").to_string()
        '/task:1/device:GPU:0'
        """
        return cls._of(parse(spec))

    def parse_from_string(self, spec: str | None) -> Self:
        """Returns a new spec from a device string; this spec does not change."""
        return self.from_string(spec)

    def make_merged_spec(self, dev: DeviceSpec) -> Self:
        """Returns the fields of `dev`; where `dev` has None, those of this spec.

        Type and index merge separately: `CPU:1` merged with `GPU` is `GPU:1`.

        >>> outer = tf.DeviceSpec.from_string("/job:ps/CPU:1")
        >>> outer.make_merged_spec(tf.DeviceSpec(device_type="GPU")).to_string()
        '/job:ps/device:GPU:1'
        """
        # By name, not `dev._fields`: any object with these five attributes works, and a string is an AttributeError.
        inner = Fields(dev.job, dev.replica, dev.task, dev.device_type, dev.device_index)
        return self._of(self._fields.merged_with(inner))

    def replace(self, **kwargs: Any) -> Self:
        """Returns a copy with some fields changed; None clears a field.

        >>> tf.DeviceSpec.from_string("/job:w/GPU:1").replace(device_index=0).to_string()
        '/job:w/device:GPU:0'
        """
        return self.__class__(**{**self._fields._asdict(), **kwargs})

    def to_string(self) -> str:
        """Returns the device string. A missing index is `*`; an index without a type is omitted."""
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
        """The index among the devices of its type, or None for any."""
        return self._fields.device_index

    def __eq__(self, other: object) -> bool:
        """Returns True for a spec of the same class with the same string; a string is never equal."""
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
    """Returns the fields of a device string.

    Raises:
      ValueError: if the string is invalid, with TensorFlow's text; see `DeviceSpec.from_string`.
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
    """Lists the tasks of some devices, job by job.

    Args:
      names: full names of devices.

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
    """Returns the full name of a device, `/job:localhost/replica:0/task:0/device:GPU:1`."""
    return f"{task}/device:{device_type}:{index}"


def task_name(job: str, number: int) -> str:
    """Returns the name of a task of a cluster, `/job:worker/replica:0/task:1`."""
    return f"/job:{job}/replica:0/task:{number}"


def split_task(task: str) -> tuple[str, int]:
    """Returns the job and the number from the full name of a task."""
    fields = parse(task)
    return fields.job or "", fields.task or 0


def task_of(name: str) -> str:
    """Returns the task in the full name of a device: the part before `/device:`."""
    return name.partition("/device:")[0]


def without_cuda(text: str) -> str:
    """Returns a device string with `cuda:1`, as CuPy and PyTorch write it, replaced by `GPU:1`.

    `tf.device` accepts only TensorFlow's names; magics and `tf.runtime` accept both.

    >>> tf.runtime.without_cuda("cuda:1")
    'GPU:1'

    Raises:
      TypeError: if `text` is not a string.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f'Expected a device name such as "GPU:0". Got {text!r}')
    return re.sub(r"(?:^|(?<=/))cuda(?=[:/]|$)", "GPU", text)


def short_name(name: str) -> str:
    """Returns the short name of a device, such as `GPU:1`; for another process, job and task precede it.

    Args:
      name: full or partial name of a device. A string that is not a device name is returned unchanged.

    Raises:
      TypeError: if `name` is not a string.

    >>> tf.runtime.short_name("/job:localhost/replica:0/task:0/device:GPU:1")
    'GPU:1'
    >>> tf.runtime.short_name("/job:worker/replica:0/task:1/device:GPU:1")
    '/job:worker/task:1/GPU:1'
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users do pass device objects
        raise TypeError(f'Expected a device name such as "GPU:0". Got {name!r}')
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
    """Returns the full device names that a string contains."""
    return re.findall(r"/job:[^/\s]+/replica:\d+/task:\d+/device:\w+:\d+", text)


def _only_one(device_type: str | None, text: str | None) -> None:
    if device_type is not None:
        raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {text}.")


def _index(text: str | None, number: str = "*") -> int | None:
    return None if number == "*" else _in_text(text, number)


def _in_text(text: str | None, number: str | None) -> int | None:
    """Returns a number from a device string."""
    try:
        return None if number is None else int(number)
    except ValueError as error:  # TensorFlow shows Python's own text
        error.add_note(f"Expected a number in the device spec '{text}'.")
        raise


def _number(value: Any) -> int | None:
    try:
        return None if value is None else int(value)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def _usual_case(device_type: str | None) -> str | None:
    return device_type.upper() if device_type in ("cpu", "gpu") else device_type


_LOCAL_FIELDS = parse(LOCAL_TASK)[:3]
