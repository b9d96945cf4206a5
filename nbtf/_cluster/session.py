"""A task's work for one controller: it runs kernels, copies tensors, and reports the outcome."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtf._cluster.engine import Message
from nbtf._cluster.plain import value_of
from nbtf._cluster.records import DRAWS, Copy, Draw, Drop, Free, Get, Listen, Making, Put, Reader, Record, Run, Template
from nbtf._cluster.tables import Failure, Table, failure_of
from nbtf._cluster.telling import MemoryReport
from nbtf._devices.base import Label, Spec
from nbtf._ops.op import Op, find_op
from nbtf._runtime.seeds import Stream
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import as_dtype
from nbtf.errors import AbortedError, CancelledError, DeadlineExceededError, UnavailableError

if TYPE_CHECKING:
    from nbtf._cluster.task import Task

PATIENCE = 1.0
"""Seconds that a task waits before it answers that a tensor is not ready; the other task then asks again."""


class TaskSession:
    """See `engine.Session`."""

    def __init__(self, task: Task, identifier: str, forget: Callable[[str, None], object]) -> None:
        """Creates a session without tensors; `forget` removes it from the task's list."""
        self._task, self.identifier, self._forget = task, identifier, forget
        self._reader = Reader()
        self._handled = -1
        self._table = Table()
        self._ops: dict[Template, tuple[Op, dict[str, Any], dict[Any, list[Spec] | None]]] = {}
        self._memory: MemoryReport | None = None
        self._dropped = 0
        self._lost: dict[str, str] = {}

    def handle(self, batch: Message) -> Message:
        """Runs a batch and returns the answer; the first answer describes the task."""
        number = self._reader.number(batch)
        if number != self._handled + 1:  # the connection has lost or duplicated a batch
            return _answer({"batch": number, "expected": self._handled + 1})
        self._handled = number
        if number == 0:
            self._memory = MemoryReport(self._task.devices)
            content = {"batch": 0, "session": self.identifier, "memory": self._memory.take()}
            return _answer(content | self._task.describe())
        answer = _Answer(number)
        for record in self._reader.records(batch):
            self._do(record, answer)
        assert self._memory is not None
        answer.content["tensors"] = len(self._table)
        answer.content["memory"] = self._memory.take()
        return _answer(answer.content, answer.frames)

    def drop(self, boundary: int) -> None:
        """Cancels results below a number, on any thread. The other records of a batch are handled, including frees."""
        self._dropped = max(self._dropped, boundary)

    def lose(self, session: str, text: str) -> None:
        """Stops waiting for tensors of a task that the controller has lost; on any thread."""
        self._lost[session] = text

    def lend(self, number: int, seconds: float) -> Message:
        """Returns the values of a tensor to another task, or after `seconds` that it is not ready."""
        value = self._table.wait(number, seconds)
        if value is None:
            return _answer({})
        frames: list[memoryview] = []
        return _answer(_values(value, frames), frames)

    def close(self) -> None:
        """Forgets everything."""
        self._table.close()
        self._forget(self.identifier, None)

    # Handling records

    def _do(self, record: Record, answer: _Answer) -> None:
        if isinstance(record, Run):
            self._make(record, answer, self._run)
        elif isinstance(record, Free):
            self._table.drop(record.number)
        elif isinstance(record, Put):
            self._make(record, answer, self._put)
        elif isinstance(record, Copy):
            self._make(record, answer, self._copy)
        elif isinstance(record, Drop):
            self._make(record, answer, _dropped)
        elif isinstance(record, Get):
            answer.replies.append(_values(self._table.get(record.number), answer.frames))
        elif isinstance(record, Listen):
            assert self._memory is not None
            self._memory.listen(record.device, record.on)
        else:
            assert self._memory is not None
            answer.replies.append(self._memory.look(record.device, record.question, self._table))

    def _make(self, record: Making, answer: _Answer, make: Callable[[Any], Sequence[Tensor] | Failure]) -> None:
        """Stores the results of a record, or its failure, which every op that needs them then repeats."""
        try:
            results = (make if record.first >= self._dropped else _dropped)(record)
        except Exception as error:  # a failed record must not end the session: its results become failures
            results = failure_of(error)
        if isinstance(results, Failure):
            failure = results
            if not failure.op:  # the failure began here
                failure = failure._replace(op=record.op, number=record.first, device=record.device, site=record.site)
                if not failure.is_dropped:  # the controller knows about its own interrupt
                    answer.failures.append(failure)
            entries: Sequence[Tensor | Failure] = [failure] * record.results
        else:
            failure, entries = None, results
        waits = isinstance(record, Run) and record.template.waits
        for number, result in enumerate(() if waits and failure else entries, record.first):
            self._table.set(number, result)
        if waits:
            answer.replies.append(
                {"specs": [[list(tensor._array.shape), tensor._dtype.as_datatype_enum] for tensor in results]}
                if not isinstance(results, Failure)
                else {"error": failure}
            )

    def _run(self, record: Run) -> Sequence[Tensor] | Failure:
        template = record.template
        op, attrs, remembered = self._ops.get(template) or self._learn(template)
        tensors: list[Any] = []
        for number in record.inputs:
            value = self._table.get(number)
            if isinstance(value, Failure):
                return value
            tensors.append(value)
        device = self._task.devices[template.device]
        inputs = _grouped(tensors, template.lists)
        if record.draw is not None:
            attrs = {name: _stream(record.draw) if value == _DRAWS else value for name, value in attrs.items()}
        specs = None
        if device.memory is not None:
            shapes = tuple([tensor._array.shape for tensor in tensors])
            if shapes not in remembered:
                remembered[shapes] = op.specs(inputs, attrs)
            specs = remembered[shapes]
        assert self._memory is not None
        buffers = device.run(op, inputs, attrs, specs, self._memory.site(record.site))
        dtypes = op.output_dtypes([tensor._dtype for tensor in tensors], attrs, len(buffers))
        return [tensor_of(buffer, dtype, device) for buffer, dtype in zip(buffers, dtypes, strict=True)]

    def _learn(self, template: Template) -> tuple[Op, dict[str, Any], dict[Any, list[Spec] | None]]:
        attrs: dict[str, Any] = value_of(template.attrs)
        entry = self._ops[template] = find_op(template.op), attrs, {}
        return entry

    def _put(self, record: Put) -> Sequence[Tensor]:
        dtype = as_dtype(record.dtype)
        array = np.frombuffer(record.content, dtype.np_dtype).reshape(record.shape)
        return [self._placed(record.device, array, record.op, record.site)]

    def _placed(self, number: int, array: np.ndarray[Any, Any], op: str, site: str) -> Tensor:
        assert self._memory is not None
        device, dtype = self._task.devices[number], as_dtype(array.dtype)
        label = Label(op, dtype.name, array.shape, self._memory.site(site))
        return tensor_of(device.put(array, label), dtype, device)

    def _copy(self, record: Copy) -> Sequence[Tensor] | Failure:
        if record.peer:
            return self._fetch(record)
        value = self._table.get(record.number)
        if isinstance(value, Failure):
            return value
        assert self._memory is not None
        device = self._task.devices[record.device]
        label = Label("copy", value._dtype.name, value._array.shape, self._memory.site(record.site))
        return [tensor_of(device.copy_from(value._device, value, label), value._dtype, device)]

    def _fetch(self, record: Copy) -> Sequence[Tensor] | Failure:
        """Fetches a tensor from another task; asks until it is ready."""
        location, session, name, heartbeat, deadline = json.loads(record.peer)
        request_fields = {"session": session, "number": record.number, "seconds": min(PATIENCE, heartbeat / 2)}
        request = _answer(request_fields)
        waited = 0.0
        while waited < deadline:
            if session in self._lost:
                raise UnavailableError(self._lost[session])
            try:
                message = self._task.peers.fetch(location, request, heartbeat, lambda: session in self._lost)
            except TimeoutError as error:
                text = f"{name} did not answer {self._task.name} for {heartbeat:g} s: {error}"
                raise UnavailableError(text) from None
            except ConnectionError as error:
                if session in self._lost:
                    continue
                raise UnavailableError(f"{name} is lost, as {self._task.name} reports: {error}") from None
            content: dict[str, Any] = json.loads(message.head)
            if "error" in content:
                return Failure(*content["error"])
            if content:
                array = _array_of(content, message.frames[0])
                return [self._placed(record.device, array, "copy", record.site)]
            if self._closed:
                raise AbortedError("The session has ended.")
            if record.first < self._dropped:
                return _DROPPED
            waited += request_fields["seconds"]
        raise DeadlineExceededError(f"A tensor of {name} was not ready in {deadline:g} s.")

    @property
    def _closed(self) -> bool:
        return self.identifier not in self._task._sessions


_DROPPED = Failure(CancelledError.__name__, "it was cancelled", of_cluster=True)


def _dropped(record: Record) -> Failure:
    """Makes nothing."""
    return _DROPPED


class _Answer:
    """The answer to one batch."""

    def __init__(self, number: int) -> None:
        self.failures: list[Failure] = []
        self.replies: list[dict[str, Any]] = []
        self.frames: list[memoryview] = []
        self.content: dict[str, Any] = {"batch": number, "failures": self.failures, "replies": self.replies}


def _answer(content: dict[str, Any], frames: Sequence[memoryview] = ()) -> Message:
    return Message(json.dumps(content, separators=(",", ":")).encode(), frames)


def _values(value: Tensor | Failure, frames: list[memoryview]) -> dict[str, Any]:
    """Returns the description of a tensor, and adds its values to the frames."""
    if isinstance(value, Failure):
        return {"error": value}
    try:
        array = np.ascontiguousarray(value._device.get(value))
    except Exception as error:
        return {"error": failure_of(error)}
    frames.append(array.reshape(-1).view(np.uint8).data)
    return {"dtype": value._dtype.as_datatype_enum, "shape": list(value._array.shape), "frame": len(frames) - 1}


def _array_of(content: dict[str, Any], frame: Any) -> np.ndarray[Any, Any]:
    return np.frombuffer(frame, as_dtype(content["dtype"]).np_dtype).reshape(content["shape"])


def _grouped(tensors: list[Any], lists: Sequence[int]) -> list[Any]:
    """Returns the inputs of an op, with lists as lists."""
    inputs: list[Any] = []
    at = 0
    for length in lists:
        if length < 0:
            inputs.append(tensors[at])
            at += 1
        else:
            inputs.append(tensors[at : at + length])
            at += length
    return inputs


_DRAWS = json.loads(DRAWS)


def _stream(draw: Draw) -> Stream:
    return Stream(draw.key, draw.high, draw.low)
