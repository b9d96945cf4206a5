"""Every way in which a function refers to names: each program returns a callable of a tensor that has a branch over it.

The names are Python's own business, so a traced function has to return what the function returns.
"""

# ruff: noqa: PLW0603
# pyright: basic
# The programs are written as users write them.

from __future__ import annotations

import functools
import operator as renamed_module
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import nbtf as tf

FACTOR = 3.0
_counter = 0
__private = 2.0


def sign(x):
    if x > 0:
        return tf.constant(1.0)
    return tf.constant(-1.0)


class Named:
    """Its `__call__` names the class, by the name of the module."""

    scale = 2.0

    def __call__(self, x):
        if x > 0:
            return x * Named.scale
        return x / Named.scale

    def method(self, x):
        if isinstance(self, Named) and x > 0:
            return x * type(self).scale
        return x

    @classmethod
    def class_method(cls, x):
        if x > 0:
            return x * cls.scale + Named.scale
        return x

    @staticmethod
    def static_method(x):
        if x > 0:
            return x * Named.scale
        return x

    @property
    def doubled(self):
        return Named.scale * 2

    def with_property(self, x):
        if x > 0:
            return x * self.doubled
        return x

    class Inner:
        """A class inside, whose name is an attribute."""

        bias = 5.0

        def __call__(self, x):
            if x > 0:
                return x + Named.Inner.bias
            return x

        def outer_method(self, x):
            if x > 0:
                return Named().method(x)
            return x


class _Underlined:
    """A class whose name begins with an underscore, which mangled names leave out."""

    def __init__(self):
        self.__secret = 4.0

    def __call__(self, x):
        if x > 0:
            return x * self.__secret * len(_Underlined.__name__)
        return x

    def nested(self, x):
        def add(y):
            if y > 0:
                return y + self.__secret
            return y

        return add(x)

    def nested_lambda(self, x):
        add = lambda y: y + self.__secret if y > 0 else y  # noqa: E731
        return add(x)

    def traced_inside(self, x):
        @tf.function
        def add(y):
            if y > 0:
                return y + self.__secret
            return y

        return add(x)


class Parent:
    """A class to inherit from."""

    def __init__(self, bias=1.0):
        self.bias = bias

    def __call__(self, x):
        if x > 0:
            return x + self.bias
        return x

    @classmethod
    def make(cls, x):
        if x > 0:
            return x + cls.amount()
        return x

    @classmethod
    def amount(cls):
        return 1.0


class Child(Parent):
    """A class that calls its parent in every way."""

    def __init__(self):
        super().__init__(bias=7.0)

    def __call__(self, x):
        if x > 0:
            return super().__call__(x) * 2
        return Parent.__call__(self, x)

    def explicit(self, x):
        if x > 0:
            return super().__call__(x)
        return x

    def by_class_cell(self, x):
        if x > 0:
            return __class__.__call__(self, x)
        return x

    @classmethod
    def make(cls, x):
        if x > 0:
            return super().make(x) * 3
        return x

    @classmethod
    def amount(cls):
        return super().amount() + Child.scale()

    @staticmethod
    def scale():
        return 0.5

    def super_in_nested(self, x):
        def inner(this, y):
            if y > 0:
                return super().__call__(y)
            return y

        return inner(self, x)

    def super_in_branch(self, x):
        if x > 0:
            y = super().__call__(x)
        else:
            y = x
        return y

    def super_in_loop(self, x):
        for _ in tf.range(2):
            x = super().__call__(x)
        return x


class Grandchild(Child):
    """A class two levels down."""

    def __call__(self, x):
        y = super().__call__(x)
        if y > 0:
            y = y + 1
        return y


class Callable1:
    """Its `__call__` is another function's name."""

    def run(self, x):
        if x > 0:
            return x * len(Callable1.__name__)
        return x

    __call__ = run


class Metaclass(type):
    """A class of classes."""

    def scaled(cls, x):
        if x > 0:
            return x * len(Metaclass.__name__)
        return x


class Made(metaclass=Metaclass):
    """A class of another class."""


@dataclass
class Data:
    """A dataclass."""

    rate: float = 2.0

    def __call__(self, x):
        if x > 0:
            return x * Data(3.0).rate * self.rate
        return x


class Pair(NamedTuple):
    """A tuple with names."""

    a: Any
    b: Any

    def total(self, x):
        if x > 0:
            return Pair(self.a, x).a + x
        return x


def decorated(function):
    @functools.wraps(function)
    def around(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return around


def passing(factor):
    def decorate(function):
        return lambda x: function(x) * factor

    return decorate


@decorated
def with_decorator(x):
    if x > 0:
        return x * FACTOR
    return x


@passing(FACTOR)
def with_arguments(x):
    if x > 0:
        return x * FACTOR
    return x


class Decorated:
    """A class with decorated methods."""

    @decorated
    def method(self, x):
        if x > 0:
            return x * len(Decorated.__name__)
        return x

    @functools.cached_property
    def rate(self):
        return len(Decorated.__name__)

    def cached(self, x):
        if x > 0:
            return x * self.rate
        return x


def closure():
    factor = 2.0

    def run(x):
        if x > 0:
            return x * factor
        return x

    return run


def deep_closure():
    a = 2.0

    def outer():
        b = 3.0

        def run(x):
            if x > 0:
                return x * a + b
            return x

        return run

    return outer()


def recursive_closure():
    def power(x, n):
        if n == 0:
            return tf.ones_like(x)
        if x > 0:
            y = x
        else:
            y = -x
        return y * power(x, n - 1)

    return lambda x: power(x, 3)


def shadowed_builtin():
    len = lambda values: 10.0  # noqa: E731

    def run(x):
        if x > 0:
            return x * len([1])
        return x

    return run


def closure_of_its_own_name():
    def sign(x):
        if x > 0:
            return x * sign.rate
        return x

    sign.rate = 3.0
    return sign


def local_class():
    class Local:
        rate = 2.0

        def __call__(self, x):
            if x > 0:
                return x * Local.rate
            return x

    return Local()


def local_class_like_a_variable():
    run = 5.0

    class run_class:  # noqa: N801
        def __call__(self, x):
            if x > 0:
                return x * run * len(run_class.__name__)
            return x

    return run_class()


def class_made_inside():
    def run(x):
        class Local:
            rate = FACTOR

            def scaled(self, y):
                if y > 0:
                    return y * Local.rate
                return y

        return Local().scaled(x)

    return run


def class_made_in_a_branch():
    def run(x):
        if x.shape.rank == 0:

            class Local:  # pyright: ignore[reportRedeclaration]
                rate = FACTOR
        else:

            class Local:
                rate = 1.0

        return x * Local.rate

    return run


def nonlocal_of_the_function():
    def run(x):
        total = x

        def add(y):
            nonlocal total
            if y > 0:
                total = total + y
            else:
                total = total - y

        add(x)
        add(-x)
        return total

    return run


def nonlocal_from_outside():
    calls = [0]
    count = 0

    def run(x):
        nonlocal count
        count = 1
        calls[0] += 1
        if x > 0:
            return x + count
        return x

    return run


def global_read():
    def run(x):
        if x > 0:
            return x * FACTOR
        return x

    return run


def global_set():
    def run(x):
        global _counter
        _counter = 5
        if x > 0:
            y = x + _counter
        else:
            y = x
        return y

    return run


def global_private():
    def run(x):
        if x > 0:
            return x * __private
        return x

    return run


def imported_inside():
    def run(x):
        import math
        from math import pi as circle

        if x > 0:
            return x * math.pi + circle
        return x

    return run


def imported_elsewhere():
    def run(x):
        if x > 0:
            return renamed_module.add(x, x)
        return x

    return run


def defaults():
    def run(x, factor=FACTOR, *, bias=sign.__name__):
        if x > 0:
            return x * factor + len(bias)
        return x

    return run


def defaults_of_an_inner_function():
    def run(x):
        rate = FACTOR

        def inner(y, rate=rate, other=sign):
            if y > 0:
                return y * rate + other(y)
            return y

        return inner(x)

    return run


def mutable_default():
    def run(x, seen=(1.0, 2.0)):
        for value in seen:
            if x > 0:
                x = x * value
        return x

    return run


def starred():
    def inner(*values, **named):
        if values[0] > 0:
            return values[0] * named["rate"]
        return values[1]

    return lambda x: inner(*[x, x], **{"rate": 2.0})


def lambdas():
    return lambda x: x * 2 if x > 0 else x - 1


def lambda_in_a_dictionary():
    table = {"a": lambda x: x * 2 if x > 0 else x, "b": lambda x: x * 3 if x > 0 else x}
    return lambda x: table["b"](x)


def lambda_with_default():
    return lambda x, rate=FACTOR: x * rate if x > 0 else x


def lambdas_of_a_loop():
    return [lambda x, n=n: x * n if x > 0 else x for n in (2.0, 3.0)][1]


def lambda_closes_over_a_loop():
    functions = []
    for n in (2.0, 3.0):
        functions.append(lambda x: x * n if x > 0 else x)  # noqa: B023
    return functions[0]


def list_comprehension():
    def run(x):
        factor = 2.0
        values = [x * factor * y for y in (1.0, 2.0) if y > 0]
        if x > 0:
            return values[1]
        return values[0]

    return run


def comprehension_hides_a_name():
    def run(x):
        y = x
        others = [y for y in (1.0, 2.0)]
        if x > 0:
            y = y + others[0]
        return y

    return run


def nested_comprehension():
    def run(x):
        table = {i: [i * j for j in range(i)] for i in range(4)}
        values = {sign(x * i) for i in ()} or {1.0}
        if x > 0:
            return x * table[3][2] + len(values)
        return x

    return run


def comprehension_calls_a_branch():
    def run(x):
        return tf.add_n([sign(x * y) for y in (1.0, -2.0, 3.0)])

    return run


def comprehension_in_a_branch():
    def run(x):
        if x > 0:
            y = tf.add_n([x * i for i in range(3)])
        else:
            y = x
        return y

    return run


def generator_expression():
    def run(x):
        total = sum(x * i for i in range(3))
        if x > 0:
            return total
        return x

    return run


def generator_function():
    def run(x):
        def numbers():
            for i in range(3):
                yield x * i

        total = tf.zeros_like(x)
        for value in numbers():
            if value > 0:
                total = total + value
        return total

    return run


def generator_outside():
    def numbers(x):
        yield x
        yield x * FACTOR

    def run(x):
        total = tf.zeros_like(x)
        for value in numbers(x):
            if value > 0:
                total = total + value
        return total

    return run


def walrus():
    def run(x):
        if (y := x * 2) > 1:
            return y
        return x

    return run


def walrus_in_a_comprehension():
    def run(x):
        values = [(last := i) for i in range(3)]
        if x > 0:
            return x * last + len(values)
        return x

    return run


def context_manager():
    def run(x):
        with tf.name_scope("scope") as name, tf.GradientTape() as tape:
            tape.watch(x)
            if x > 0:
                y = x * x
            else:
                y = x
        assert name == "scope/"
        return tape.gradient(y, x)

    return run


def exception_name():
    def run(x):
        try:
            raise KeyError("key")
        except KeyError as error:
            rate = len(error.args)
        if x > 0:
            return x * rate
        return x

    return run


def finally_block():
    def run(x):
        try:
            if x > 0:
                y = x * 2
            else:
                y = x
        finally:
            rate = 3.0
        return y * rate

    return run


def match_statement():
    def run(x):
        match (2.0, [3.0, 4.0], {"a": 5.0, "b": 6.0}):
            case (float(rate), [first, *rest], {"a": value, **others}):
                if x > 0:
                    y = x * rate + first + len(rest) + value + len(others)
                else:
                    y = x
                return y
        return x

    return run


def unpacking():
    def run(x):
        (a, *rest), b = (x, 1.0, 2.0), x + 1
        if x > 0:
            a, b = b, a
        return a * len(rest) - b

    return run


def deleted_name():
    def run(x):
        y = x * 2
        z = y
        del y
        if x > 0:
            y = z + 1
        else:
            y = z
        return y

    return run


def annotated():
    def run(x: tf.Tensor) -> tf.Tensor:
        rate: float = 2.0
        other: float
        if x > 0:
            other = rate
            y: tf.Tensor = x * other
        else:
            y = x
        return y

    return run


def augmented():
    def run(x):
        y = x
        if x > 0:
            y += FACTOR
            y *= 2
        return y

    return run


def names_like_those_of_the_conversion():
    def run(x):
        test, body, state, then, result, returned = x, x, x, 2.0, 3.0, 4.0
        if x > 0:
            return test * body * state * then * result * returned
        return x

    return run


def name_of_the_function():
    def ag__function(x):
        if x > 0:
            return x * len(ag__function.__name__)
        return x

    return ag__function


def partial_application():
    def run(rate, x):
        if x > 0:
            return x * rate
        return x

    return functools.partial(run, FACTOR)


def partial_of_a_method():
    return functools.partial(Named().method)


def partial_method():
    class Local:
        def scale(self, x, rate):
            if x > 0:
                return x * rate
            return x

        double = functools.partialmethod(scale, rate=2.0)

    return Local().double


def bound_in_a_class_body():
    class Local:
        rate = 2.0
        run = lambda self, x: x * self.rate if x > 0 else x  # noqa: E731

    return Local().run


def method_on_an_instance():
    class Local:
        pass

    instance: Any = Local()
    instance.run = lambda x: x * 2 if x > 0 else x
    return lambda x: instance.run(x)


def attribute_by_name():
    class Local:
        def __getattr__(self, name):
            return lambda x: x * len(name) if x > 0 else x

    instance: Any = Local()
    return lambda x: instance.anything(x)


def descriptor():
    class Descriptor:
        def __get__(self, instance, owner):
            return lambda x: x * len(owner.__name__) if x > 0 else x

    class Local:
        run = Descriptor()

    return lambda x: Local().run(x)  # type: ignore[no-any-return]


def setter():
    class Local:
        def __init__(self):
            self._rate = 1.0

        @property
        def rate(self):
            return self._rate

        @rate.setter
        def rate(self, value):
            self._rate = value * len(Local.__name__)

    def run(x):
        instance = Local()
        if x.shape.rank == 0:
            instance.rate = 2.0
        return x * instance.rate if x > 0 else x

    return run


def evaluated_name():
    def run(x):
        rate = 2.0
        return x * rate * len([name for name in ("x", "rate") if name in locals()] or [1]) if x > 0 else x

    return run


def instance_methods(owner: Any, *names: str) -> dict[str, Callable[[], Any]]:
    return {f"{type(owner).__name__}.{name}": functools.partial(getattr, owner, name) for name in names}


PROGRAMS: dict[str, Callable[[], Any]] = {
    **{
        name: program
        for name, program in list(globals().items())
        if getattr(program, "__module__", "") == __name__
        and isinstance(program, type(sign))
        and not program.__code__.co_argcount
        and program is not with_decorator
    },
    **instance_methods(Named(), "__call__", "method", "class_method", "static_method", "with_property"),
    **instance_methods(Named.Inner(), "__call__", "outer_method"),
    **instance_methods(_Underlined(), "__call__", "nested", "nested_lambda", "traced_inside"),
    **instance_methods(Child(), "__call__", "explicit", "make", "super_in_nested", "super_in_branch", "super_in_loop"),
    **instance_methods(Decorated(), "method", "cached"),
    **instance_methods(Pair(1.0, 2.0), "total"),
    **{type(owner).__name__: lambda owner=owner: owner for owner in (Named(), _Underlined(), Child(), Grandchild())},
    **{type(owner).__name__: lambda owner=owner: owner for owner in (Callable1(), Data(), Named.Inner())},
    "class of a class": lambda: Made.scaled,
    "class method by class": lambda: Named.class_method,
    "class method of a child": lambda: Child.make,
    "static method by class": lambda: Named.static_method,
    "function of a class": lambda: lambda x: Named.method(Named(), x),
    "instance called inside": lambda: lambda x: Named()(x),
    "decorated": lambda: with_decorator,
    "decorated with arguments": lambda: with_arguments,
    "global function": lambda: sign,
}
"""The programs by name."""
