"""Which random numbers does a simulated device draw?

Those of the CPU's generator, as long as nobody has seeded the device by itself: so a program computes on the device
what it computes on the CPU. `torch.manual_seed` seeds both, as always; to seed a device with that same seed once more,
before it has drawn, changes nothing, on a card neither.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from weakref import finalize

from nbtf._frameworks.torch.simulation.machine import Machine, implementation_of
from nbtf._frameworks.torch.simulation.replacing import Replacements

_SEEDS = 1 << 64
"""How many there are; a negative one counts from their end."""


def install_generators(machine: Machine, replacements: Replacements) -> None:
    """Gives each device its generator, and lets `torch.Generator` make further ones.

    Args:
      machine: the devices.
      replacements: remembers what has to be put back.
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
        cuda.init()  # else the seeds of the devices wait for it, and count from then on
        result = seed(*args)
        for generator in generators:
            generator.follow()
        return result

    return seed_all


def _generator_class(machine: Machine) -> Any:
    torch = machine.torch
    base: Any = torch._C.Generator

    class CardGenerator(base):
        """A generator of the CPU that belongs to a device."""

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
        """A device's own generator, which `follows` the CPU's until it is seeded by itself."""

        follows, has_drawn = True, False

        def follow(self) -> None:
            """Draws the CPU's numbers from now on: both were seeded together."""
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
            """Takes a state; one that is the CPU's at this moment has it follow again."""
            self.follows, self.has_drawn = torch.equal(state, of_cpu.get_state()), True
            return base.set_state(self, state)

        @contextmanager
        def drawing(self) -> Generator[None]:
            """Has the CPU's generator draw this one's numbers."""
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
        """Makes generators, of simulated devices as well."""

    TorchGenerator.__name__ = TorchGenerator.__qualname__ = "Generator"
    TorchGenerator.__module__, TorchGenerator.__doc__ = "torch", torch._C.Generator.__doc__
    return TorchGenerator
