"""Scopes that can place a variable: device scopes, strategies, and only in nbtf the devices of a cell and a session."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from tests.variable_placement.phases import Device

Opener = Callable[[], AbstractContextManager[Any]]
"""Opens the scope for a phase."""


def nested(*numbers: int | str | None) -> Callable[[Any, Device], Opener]:
    """Returns a function that opens device scopes, outermost first; `cpu` means the CPU, None ends all scopes."""

    def opener(tf: Any, device: Device) -> Opener:
        names = [None if number is None else device(None if number == "cpu" else int(number)) for number in numbers]

        @contextmanager
        def scopes() -> Generator[None]:
            with ExitStack() as stack:
                for name in names:
                    stack.enter_context(tf.device(name))
                yield

        return scopes

    return opener


def in_strategy(make: Callable[[Any, Device], Any], around: int | None = None, inside: int | None = None) -> Any:
    """Returns a function that opens a strategy's scope, with device scopes around it or inside."""

    def opener(tf: Any, device: Device) -> Opener:
        strategy = make(tf, device)

        @contextmanager
        def scopes() -> Generator[None]:
            with ExitStack() as stack:
                if around is not None:
                    stack.enter_context(tf.device(device(around)))
                stack.enter_context(strategy.scope())
                if inside is not None:
                    stack.enter_context(tf.device(device(inside)))
                yield

        return scopes

    return opener


def mirrored(tf: Any, device: Device) -> Any:
    # TensorFlow's collectives do not support several CPUs in one process.
    together = tf.distribute.ReductionToOneDevice()
    return tf.distribute.MirroredStrategy([device(0), device(1)], cross_device_ops=together)


def one_device(tf: Any, device: Device) -> Any:
    return tf.distribute.OneDeviceStrategy(device(1))


def central(tf: Any, device: Device) -> Any:
    return tf.distribute.experimental.CentralStorageStrategy([device(1), device(2)], device(3))


SCOPES: dict[str, Callable[[Any, Device], Opener]] = {
    "nothing": lambda tf, device: nullcontext,
    "device 2": nested(2),
    "device 2 > device 1": nested(2, 1),
    "device 2 > None": nested(2, None),
    "None": nested(None),
    "CPU": nested("cpu"),
    "CPU > device 3": nested("cpu", 3),
    "mirrored": in_strategy(mirrored),
    "device 2 > mirrored": in_strategy(mirrored, around=2),
    "mirrored > device 2": in_strategy(mirrored, inside=2),
    "one device": in_strategy(one_device),
    "device 2 > one device": in_strategy(one_device, around=2),
    "central storage": in_strategy(central),
}

FEW = ("device 2", "device 2 > None", "CPU", "mirrored", "one device")
"""The scopes for ways that take seconds in TensorFlow."""

PHASED = ("device 2", "mirrored")
"""The scopes that are also opened for only a single phase."""

REASONS = {
    "nothing": "lowest-numbered GPU",
    "device 2": "explicit scope",
    "device 2 > device 1": "explicit scope",
    "device 2 > None": "lowest-numbered GPU",
    "None": "lowest-numbered GPU",
    "CPU": "explicit scope",
    "CPU > device 3": "explicit scope",
    "cell 2": "cell",
    "cell 2 > device 1": "explicit scope",
    "cell 2 > None": "lowest-numbered GPU",
    "session default 2": "session default",
    "session default 2 > None": "lowest-numbered GPU",
}
"""The reason for a variable's device, as shown in the placement log."""


def with_cell(*numbers: int | None) -> Callable[[Any, Device], Opener]:
    def opener(tf: Any, device: Device) -> Opener:
        scopes = nested(*numbers)(tf, device)

        @contextmanager
        def cell() -> Generator[None]:
            undo = tf.runtime.cell_device(device(2))
            try:
                with scopes():
                    yield
            finally:
                undo()

        return cell

    return opener


def with_default(*numbers: int | None) -> Callable[[Any, Device], Opener]:
    def opener(tf: Any, device: Device) -> Opener:
        scopes = nested(*numbers)(tf, device)

        @contextmanager
        def session() -> Generator[None]:
            tf.runtime.set_default_device(device(2))
            try:
                with scopes():
                    yield
            finally:
                tf.runtime.set_default_device(None)

        return session

    return opener


OUTERMOST: dict[str, tuple[str, Callable[[Any, Device], Opener]]] = {
    "cell 2": ("device 2", with_cell()),
    "cell 2 > device 1": ("device 2 > device 1", with_cell(1)),
    "cell 2 > None": ("device 2 > None", with_cell(None)),
    "session default 2": ("device 2", with_default()),
    "session default 2 > None": ("device 2 > None", with_default(None)),
}
"""Scopes that only nbtf has act as an outermost `tf.device`: the scope whose recorded cells apply, and its opener."""
