"""Random number generators of simulated devices.

A device draws the numbers of the CPU generator until the program seeds that device separately, so a program computes
the same on the device as on the CPU. `torch.manual_seed` seeds both, as always. Seeding a device with the same seed
again before it has drawn changes nothing, as on a real card.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from weakref import finalize

from nbtf._frameworks.torch.simulation.machine import Machine, implementation_of
from nbtf._frameworks.torch.simulation.replacing import Replacements

_SEEDS = 1 << 64
"""Number of generators; a negative index counts from the end."""


def install_generators(machine: Machine, replacements: Replacements) -> None:
    """Gives each device its generator, and lets `torch.Generator` create more of them.

    Args:
      machine: machine with the devices.
      replacements: records the original attributes for removal.
    """
    torch = machine.torch
    generator_class = _generator_class(machine)
    default_class = _default_class(torch, generator_class)
    generators = tuple([default_class(torch.device("cuda", number)) for number in range(len(machine.cards))])
    machine.generators = generators
    replacements.set(torch, "Generator", _factory(torch, generator_class))
    replacements.set(torch.cuda, "default_generators", generators)
    for name in ("_manual_seed_impl", "seed"):
        replacements.set(torch.random, name, _seeding_all(torch.cuda, getattr(torch.random, name), generators))
    replacements.set(torch, "seed", torch.random.seed)


def _seeding_all(cuda: Any, seed: Callable[..., Any], generators: tuple[Any, ...]) -> Callable[..., Any]:
    def seed_all(*args: Any) -> Any:
        if cuda._is_in_bad_fork():  # such as a worker of a DataLoader, which may still use the CPU
            return seed(*args)
        cuda.init()  # otherwise the device seeds wait for initialization and would take effect only then
        result = seed(*args)
        for generator in generators:
            generator.follow()
        return result

    return seed_all


def _generator_class(machine: Machine) -> Any:
    torch = machine.torch
    base: Any = torch._C.Generator

    class CardGenerator(base):
        """A CPU generator that belongs to a device."""

        def __new__(cls, device: Any) -> Any:
            generator = base.__new__(cls)
            number = machine.current if device.index is None else device.index
            generator.card = torch.device("cuda", number)
            address = implementation_of(generator)
            machine.generator_addresses.add(address)
            finalize(generator, machine.generator_addresses.discard, address)
            return generator

        @property
        def device(self) -> Any:
            return self.card

    return CardGenerator


def _default_class(torch: Any, generator_class: Any) -> Any:
    of_cpu, base = torch.default_generator, generator_class

    class DefaultGenerator(base):
        """A device's own generator, which `follows` the CPU generator until it is seeded separately."""

        follows, has_drawn = True, False

        def follow(self) -> None:
            """Draws the numbers of the CPU generator from now on, since both were seeded together."""
            self.follows, self.has_drawn = True, False

        def manual_seed(self, seed: int) -> Any:
            self.follows = not self.has_drawn and seed % _SEEDS == of_cpu.initial_seed()
            return base.manual_seed(self, seed)

        def seed(self) -> int:
            self.follows = False
            return base.seed(self)

        def initial_seed(self) -> int:
            return of_cpu.initial_seed() if self.follows else base.initial_seed(self)

        def get_state(self) -> Any:
            return of_cpu.get_state() if self.follows else base.get_state(self)

        def set_state(self, state: Any) -> Any:
            """Sets the state; the CPU generator's current state makes this generator follow it again."""
            self.follows, self.has_drawn = torch.equal(state, of_cpu.get_state()), True
            return base.set_state(self, state)

        @contextmanager
        def drawing(self) -> Generator[None]:
            """Makes the CPU generator draw this generator's numbers."""
            self.has_drawn = True
            if self.follows:
                yield
                return
            cpu_state = of_cpu.get_state()
            of_cpu.set_state(base.get_state(self))
            try:
                yield
            finally:
                base.set_state(self, of_cpu.get_state())
                of_cpu.set_state(cpu_state)

    return DefaultGenerator


def _factory(torch: Any, generator_class: Any) -> Any:
    class GeneratorType(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, torch._C.Generator)

        def __call__(cls, device: Any = "cpu") -> Any:
            target = torch.device(device)
            return generator_class(target) if target.type == "cuda" else torch._C.Generator(device=target)

    class TorchGenerator(metaclass=GeneratorType):
        """Creates generators for the CPU and for simulated devices."""

    TorchGenerator.__name__ = TorchGenerator.__qualname__ = "Generator"
    TorchGenerator.__module__, TorchGenerator.__doc__ = "torch", torch._C.Generator.__doc__
    return TorchGenerator
