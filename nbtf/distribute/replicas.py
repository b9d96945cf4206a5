"""How do the replicas of one `run` take turns?

One replica runs at a time, in the order of the devices, so that everything happens in the same order each time. The
first replica runs on the caller's thread. As long as no replica waits for the others, all of them run there. Once the
first one waits, the others get their own threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtf._record.events import Reason
from nbtf._runtime.blocks import within
from nbtf._runtime.lanes import with_open_lane
from nbtf._runtime.scopes import EMPTY, SCOPE, Scope, merged
from nbtf.distribute.contexts import ReplicaContext
from nbtf.distribute.values import of_replica, regrouped
from nbtf.errors import UnimplementedError

if TYPE_CHECKING:
    from nbtf.distribute.strategy import Strategy

UNEQUAL = "Some replicas made a different number of replica_context().merge_call() calls."

IN_OTHER_GRAPH = (
    "`merge_call` called while defining a new graph or a tf.function. This can often happen if the function "
    "`fn` passed to `strategy.run()` contains a nested `@tf.function`, and the nested `@tf.function` contains "
    "a synchronization point, such as aggregating gradients (e.g, optimizer.apply_gradients), or if the "
    "function `fn` uses a control flow statement which contains a synchronization point in the body. Such "
    "behaviors are not yet supported. Instead, please avoid nested `tf.function`s or control flow statements "
    "that may potentially cross a synchronization boundary, for example, wrap the `fn` passed to "
    "`strategy.run` or the entire `strategy.run` inside a `tf.function` or move the control flow out of `fn`. "
    "If you are subclassing a `tf.keras.Model`, please avoid decorating overridden methods `test_step` and "
    "`train_step` in `tf.function`."
)


class MergeRequest(NamedTuple):
    """A function that a replica wants to call when all replicas have arrived."""

    fn: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


class _AbandonedError(BaseException):
    """Ends a replica whose result is no longer needed."""


class _Thread:
    """A replica on its own thread, which runs only when resumed."""

    def __init__(self, body: Callable[[], object]) -> None:
        """Starts the thread, which then waits.

        Raises:
          RuntimeError: if threads cannot start here.
        """
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._request: MergeRequest | None = None
        self._answer: Any = None
        self._error: BaseException | None = None
        self.over = self._abandoned = False
        context = copy_context()
        self._thread = threading.Thread(target=lambda: context.run(self._run, body), daemon=True)
        self._thread.start()

    def _run(self, body: Callable[[], object]) -> None:
        self._turn.acquire()
        try:
            if not self._abandoned:
                body()
        except _AbandonedError:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self.over, self._request = True, None
            self._back.release()

    def resume(self, answer: Any = None) -> MergeRequest | None:
        """Lets the replica run until its next request and returns the request; None when the replica has finished."""
        self._answer = answer
        self._turn.release()
        self._back.acquire()
        if self._error is not None:
            raise self._error
        return self._request

    def ask(self, request: MergeRequest) -> Any:
        """Sends a request from the replica's thread, waits for the other replicas, and returns the answer."""
        self._request = request
        self._back.release()
        self._turn.acquire()
        if self._abandoned:
            raise _AbandonedError
        return self._answer

    def abandon(self) -> None:
        """Ends the replica where it waits now or next."""
        self._abandoned = True
        self._turn.release()
        self._thread.join()


class Replicas:
    """The replicas of one call of `strategy.run`."""

    def __init__(
        self, strategy: Strategy, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """Stores the function and its arguments; nothing runs yet."""
        self._strategy, self._devices = strategy, strategy.extended.worker_devices
        self._fn: Callable[..., Any] = fn
        self._args: Sequence[Any] = args
        self._kwargs: Mapping[str, Any] = kwargs
        self._outer = SCOPE() or EMPTY
        self._results: list[Any] = [None] * len(self._devices)
        self._threads: dict[int, _Thread] = {}
        self._answers: Sequence[Any] = self._results
        self._later: list[list[MergeRequest]] = [[] for _ in self._devices]
        self._variables: list[Any] = []

    def run(self) -> Any:
        """Runs the function once in each replica; returns the combined results."""
        try:
            for number in range(len(self._devices)):
                thread = self._threads.get(number)
                if thread is None:
                    self._call(number)
                elif thread.resume(self._answers[number]) is not None:
                    raise RuntimeError(UNEQUAL)
            self._merge_late()
            return regrouped(self._results)
        finally:
            for thread in self._threads.values():
                if not thread.over:
                    thread.abandon()
            self._results, self._answers, self._args, self._kwargs = [], (), (), {}  # a stored scope references this

    def _call(self, number: int) -> None:
        """Runs the function in one replica, on this thread."""
        try:
            with within(lambda _: self._scope_of(number)):
                self._results[number] = self._fn(*of_replica(number, self._args), **of_replica(number, self._kwargs))
        except BaseException as error:
            self._strategy.note_replica(error, number)
            raise

    def _scope_of(self, number: int) -> Scope:
        context = ReplicaContext(self._strategy, number, self)
        creator = partial(self._create, iter(range(1_000_000_000)))
        creators = (*(creator for creator in self._outer.creators if creator is not self._strategy._creator), creator)
        request = merged(self._devices[number], None, Reason("replica of a strategy", str(number)))
        return with_open_lane(self._outer.with_(request=request, strategy=context, replica=number, creators=creators))

    # Meeting

    def check_graph(self) -> None:
        """Checks that the replicas can meet: they cannot while one adds ops to its own graph.

        Raises:
          RuntimeError: if the replica adds ops to another graph, with TensorFlow's text.
        """
        graph = (SCOPE() or EMPTY).graph
        if self._strategy._replicas_meet and graph is not None and graph is not self._outer.graph:
            raise RuntimeError(IN_OTHER_GRAPH)

    def meet(
        self,
        number: int,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        deferrable: bool = False,
    ) -> Any:
        """Waits, in a replica, for all others; calls the function once and returns this replica's result."""
        request = MergeRequest(fn, args, kwargs)
        thread = self._threads.get(number)
        if thread is not None:
            return thread.ask(request)
        if deferrable and self._later[0] and number > 0:
            self._later[number].append(request)
            return None
        if number > 0:
            raise RuntimeError(UNEQUAL)  # the first replica has already finished
        try:
            requests = [request, *self._resume_others()]
        except UnimplementedError:
            if not deferrable:
                raise
            self._later[number].append(request)
            return None
        result = self._call_merged(requests)
        self._answers = [of_replica(replica, result) for replica in range(len(self._devices))]
        return self._answers[0]

    def _resume_others(self) -> list[MergeRequest]:
        """Lets all other replicas run until their next requests."""
        requests: list[MergeRequest] = []
        for number in range(1, len(self._devices)):
            thread = self._threads.get(number)
            if thread is None:
                thread = self._threads[number] = self._start(number)
            request = thread.resume(self._answers[number])
            if request is None:
                raise RuntimeError(UNEQUAL)
            requests.append(request)
        return requests

    def _start(self, number: int) -> _Thread:
        try:
            return _Thread(partial(self._call, number))
        except RuntimeError as error:
            raise UnimplementedError(
                f"Replicas cannot wait for each other here, because threads cannot start ({error}). "
                "Use `fit`, or call `apply_gradients` at the end of a replica's function: these do not wait."
            ) from None

    def _call_merged(self, requests: Sequence[MergeRequest]) -> Any:
        """Calls a function across replicas."""
        outer = self._outer
        if (SCOPE() or EMPTY).graph is None and outer.graph is not None:  # in a `tf.init_scope`, ops run immediately
            outer = outer.with_(graph=None, tapes=())
        with within(lambda _: across(self._strategy, outer)):
            args = regrouped([tuple(request.args) for request in requests])
            kwargs = regrouped([dict(request.kwargs) for request in requests])
            return requests[0].fn(self._strategy, *args, **kwargs)

    def _merge_late(self) -> None:
        if len({len(requests) for requests in self._later}) > 1:
            raise RuntimeError(UNEQUAL)
        for requests in zip(*self._later, strict=True):
            self._call_merged(requests)

    # Variables

    def _create(self, counter: Any, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Creates a variable in a replica: the first replica to arrive creates it for all."""
        position = next(counter)
        if position == len(self._variables):
            value = kwargs["initial_value"]
            kwargs["initial_value"] = value() if callable(value) else value
            graph = (SCOPE() or EMPTY).graph
            with within(lambda _: across(self._strategy, self._outer.with_(graph=graph))):
                self._variables.append(self._strategy._create(next_creator, **kwargs))
        return self._variables[position]


def across(strategy: Strategy, outer: Scope) -> Scope:
    """Returns the scope of a strategy in cross-replica context, inside another scope."""
    creator = strategy._creator
    creators = outer.creators if creator in outer.creators else (*outer.creators, creator)
    return with_open_lane(outer.with_(strategy=strategy, replica=None, creators=creators))
