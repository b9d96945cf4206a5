"""Records each op that TensorFlow runs eagerly, and each call of a function, on every thread."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter, time
from typing import Any
from weakref import WeakSet

from nbtf._frameworks.tensorflow.entry_points import EntryPoint
from nbtf._frameworks.tensorflow.internals import Internals
from nbtf._frameworks.tensorflow.notes import Call, Notes
from nbtf._frameworks.tensorflow.quiet import QUIET
from nbtf._locks import new_lock
from nbtf._record.listeners import Observers
from nbtf._record.rows import next_number
from nbtf._runtime.context import CURRENT


class Counter:
    """A number that threads may increase at the same time."""

    def __init__(self) -> None:
        """Starts at zero."""
        self._numbers = itertools.count(1)
        self.value = 0

    def increase(self) -> None:
        """Adds 1."""
        self.value = next(self._numbers)


class _Thread:
    """What TensorFlow's callback on a thread has received about the op that runs there."""

    __slots__ = ("__weakref__", "attributes", "callbacks", "inputs")

    def __init__(self) -> None:
        self.inputs: Sequence[Any] | None = None
        self.attributes: Sequence[Any] = ()
        self.callbacks: list[Any] | None = None
        """TensorFlow's list of this thread's callbacks, while it contains ours."""


class Executions:
    """Observes TensorFlow's functions that run ops: counts the ops, and records them while `wanted`."""

    def __init__(self, names: Internals) -> None:
        """Stores TensorFlow's private modules."""
        self._names = names
        self._local = threading.local()
        self._threads: WeakSet[_Thread] = WeakSet()
        self.users = self.wanted = 0
        """The numbers of observers, and of those that want ops recorded."""
        self.heard, self.unrecorded = Counter(), Counter()
        """The numbers of ops, and of unrecorded ops, since the program began."""
        self._lock = new_lock()
        self.notes = Notes(names)
        run, pywrap = EntryPoint, names.pywrap
        self._entries = (
            run(pywrap, "TFE_Py_FastPathExecute", self._around_fast_path),
            run(pywrap, "TFE_Py_Execute", self._around_execute),
            run(pywrap, "TFE_Py_ExecuteCancelable", self._around_execute),
            run(names.constants, "convert_to_eager_tensor", self._around_constant),
            run(names.sessions, "TF_SessionRun_wrapper", self._around_session),
        )

    def begin(self, is_wanted: bool) -> None:
        """Adds an observer, which may want ops recorded."""
        with self._lock:
            self.users += 1
            self.wanted += is_wanted
            if self.users == 1:
                for entry in self._entries:
                    entry.replace()
            if is_wanted and self.wanted == 1:
                self.notes.begin()
                self._prepare()
                self._join(self._thread())  # a function may be traced before any op runs

    def end(self, is_wanted: bool) -> None:
        """Removes an observer."""
        with self._lock:
            self.users -= 1
            self.wanted -= is_wanted
            if not self.users:
                for entry in self._entries:
                    entry.restore()
            if not self.wanted:
                self._leave_threads()
                if is_wanted:
                    self.notes.end()

    def forget_observers(self) -> None:
        """Stops in a forked process, whose records could not be read."""
        self.users = self.wanted = 0
        for entry in self._entries:
            entry.restore()

    # Threads

    def _thread(self) -> _Thread:
        """Returns the state of this thread."""
        try:
            return self._local.state
        except AttributeError:
            state = self._local.state = _Thread()
            self._threads.add(state)
            return state

    def _join(self, state: _Thread) -> None:
        """Makes TensorFlow report the inputs of this thread's ops."""
        context = self._names.context.context()
        context.add_op_callback(self._receive)
        state.callbacks = context.op_callbacks

    def _leave_threads(self) -> None:
        for state in tuple(self._threads):
            callbacks, state.callbacks, state.inputs = state.callbacks, None, None
            if callbacks is not None and self._receive in callbacks:  # the program may have removed all callbacks
                callbacks.remove(self._receive)

    def _receive(
        self, op_type: Any, inputs: Any, attributes: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        """Keeps what TensorFlow's callback reports of an op that runs, or of a node that is made."""
        if graph is None:
            state = self._thread()
            state.inputs, state.attributes = inputs, attributes
        elif not QUIET.is_on:
            with suppress(Exception):
                self.notes.origins.see_node(sys._getframe(1))

    def _prepare(self, op_type: str = "", attributes: Sequence[Any] = ()) -> Sequence[Any]:
        """Returns the attributes with which to run an op, after the last preparations."""
        try:
            return self.notes.prepare(op_type, attributes)
        except Exception:
            return attributes

    # Entry points

    def _observers(self) -> Observers | None:
        """Returns the observers of an op; None to count it only. Ops of an observer itself are not observed."""
        observers = CURRENT.context.observers
        if not self.wanted or not observers.takers or QUIET.is_on or (observers.functions and observers.telling):
            return None
        return observers

    def _count(self) -> None:
        self.heard.increase()
        self.unrecorded.increase()

    def _run_counted(self, original: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Runs an op that is not recorded, and counts it unless it is the watch's own."""
        result = original(*args)
        if not QUIET.is_on:
            self._count()
        return result

    def _around_fast_path(self, original: Callable[..., Any]) -> Callable[..., Any]:
        next_id, clock, fallback = self._names.pywrap.TFE_Py_UID, perf_counter, self._names.core._FallbackException

        def run(*args: Any) -> Any:  # context, op type, name, then inputs and attributes
            observers = self._observers()
            if observers is None:
                return self._run_counted(original, args)
            state = self._thread()
            if state.callbacks is None:
                self._join(state)
            state.inputs = None
            last_id, first, began_at, started = next_id(), next_number(), time(), clock()
            try:
                result = original(*args)
            except BaseException as error:
                call = Call(args[1], args[0].device_name, args[3:], (), last_id, first, began_at, clock() - started)
                self._note_failure(observers, call, error, error.__class__ is fallback, sys._getframe(2))
                raise
            seconds = clock() - started
            inputs, attributes = state.inputs, state.attributes
            call = Call(args[1], args[0].device_name, inputs, attributes, last_id, first, began_at, seconds)
            if inputs is None:  # the program has removed all callbacks
                call.inputs, state.callbacks = args[3:], None
            self._note(observers, call, args, result, sys._getframe(2))
            return result

        return run

    def _around_execute(self, original: Callable[..., Any]) -> Callable[..., Any]:
        next_id, clock = self._names.pywrap.TFE_Py_UID, perf_counter

        def run(*args: Any) -> Any:  # handle, device, op type, inputs, attributes, and more
            observers = self._observers()
            if observers is None:
                return self._run_counted(original, args)
            state = self._thread()
            if state.callbacks is None:
                self._join(state)  # a function may be traced next
            op_type = args[2] if args[2].__class__ is str else args[2].decode()
            args = (*args[:4], self._prepare(op_type, args[4]), *args[5:])
            last_id, first, began_at, started = next_id(), next_number(), time(), clock()
            call = Call(op_type, args[1] or "", args[3], args[4] or (), last_id, first, began_at, 0.0)
            try:
                result = original(*args)
            except BaseException as error:
                call.seconds = clock() - started
                self._note_failure(observers, call, error, False, sys._getframe(2))
                raise
            call.seconds = clock() - started
            self._note(observers, call, (), result, sys._getframe(2))
            return result

        return run

    def _around_constant(self, original: Callable[..., Any]) -> Callable[..., Any]:
        tensor_class = self._names.ops.EagerTensor

        def convert(value: Any, ctx: Any, dtype: Any = None) -> Any:
            observers = self._observers()
            if observers is None or isinstance(value, tensor_class):
                return original(value, ctx, dtype)
            began_at = time()
            tensor = original(value, ctx, dtype)
            with suppress(Exception):
                self.notes.take_constant(observers, value, dtype, tensor, began_at, sys._getframe(2))
            return tensor

        return convert

    def _around_session(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            self._count()  # a session runs a graph that is not recorded
            return original(*args)

        return run

    def _note(self, observers: Observers, call: Call, raw: Sequence[Any], result: Any, caller: Any) -> None:
        """Records an op that has ended. No error of ours may reach the program."""
        self.heard.increase()
        try:
            self.notes.take(observers, call, raw, result, caller)
        except Exception:
            self.unrecorded.increase()

    def _note_failure(
        self, observers: Observers, call: Call, error: BaseException, is_fallback: bool, caller: Any
    ) -> None:
        """Records an op that raised an error, if TensorFlow had placed it before."""
        if not is_fallback:
            self.heard.increase()
        try:
            self.notes.take_failure(observers, call, error, is_fallback, caller)
        except Exception:
            self.unrecorded.increase()
