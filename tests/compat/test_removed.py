"""Do removed methods, arguments and fields of TensorFlow 1 raise an error that says what to use instead?"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._storage.messages.message import Message
from nbtf.compat._v1._surface.removed import REMOVED, advice_for

tf1 = tf.compat.v1

OWNERS = {"Initializer": tf1.zeros_initializer}
"""Classes that have another name for programs."""

ARGUMENTS = {
    "VariableScope.__init__": (False,),
    "make_template": ("name", len),
    "summary.FileWriter.__init__": ("",),
    "layers.flatten": ([[1.0]],),
}
"""Other arguments for the functions; by default two numbers."""


def raised(error_type: type[Exception], function: Any, *args: Any, **kwargs: Any) -> Any:
    with pytest.raises(error_type) as info:
        function(*args, **kwargs)
    return info.value


CASES = [(owner, name) for owner in REMOVED for name in advice_for(owner)]


@cache
def objects(folder: Path) -> dict[str, Any]:
    with tf.Graph().as_default() as graph:
        variable = tf1.Variable(1.0)
        saver, session = tf1.train.Saver([variable]), tf1.Session()
        with tf1.variable_scope("scope") as scope:
            resource = tf1.get_variable("v", [1], use_resource=True)
    return {
        "Dimension": [tf1.Dimension(2)],
        "Graph": [graph],
        "GraphKeys": [tf1.GraphKeys()],
        "Initializer": [tf1.zeros_initializer(), tf1.glorot_uniform_initializer()],
        "Session": [session],
        "Variable": [variable, resource],
        "VariableScope": [scope],
        "summary.FileWriter": [tf1.summary.FileWriter(str(folder))],
        "train.Saver": [saver],
    }


@pytest.mark.parametrize(("owner", "name"), CASES)
def test_a_removed_name_raises_advice(owner: str, name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    advice = advice_for(owner)[name]
    target = OWNERS.get(owner) or attrgetter(owner.removesuffix(".__init__"))(tf1)
    errors: list[Any] = []

    if not isinstance(target, type) or owner.endswith("__init__"):
        arguments = ARGUMENTS.get(owner, (1.0, 2.0))
        errors.append(raised(TypeError, target, *arguments, **{name: None}))
        assert f"got an unexpected keyword argument '{name}'" in str(errors[-1])
    elif issubclass(target, Message):
        errors.append(raised(ValueError, target, **{name: None}))
        errors.append(raised(AttributeError, getattr, target(), name))
        errors.append(raised(AttributeError, setattr, target(), name, 1))
    else:
        errors.append(raised(AttributeError, getattr, target, name))
        for instance in objects(tmp_path_factory.getbasetemp())[owner]:
            errors.append(raised(AttributeError, getattr, instance, name))
            assert f"'{type(instance).__name__}' object has no attribute '{name}'" == str(errors[-1])
            assert name not in dir(instance)

    assert [[advice]] * len(errors) == [error.__notes__ for error in errors]


@pytest.mark.parametrize("owner", REMOVED)
def test_advice_ends_like_a_sentence(owner: str) -> None:
    assert all(advice[0].isalnum() and advice[-1] == "." for advice in REMOVED[owner].values())


def test_subclasses_of_programs_may_define_a_removed_name() -> None:
    class Session(tf1.Session):
        def partial_run(self) -> int:
            return 1

    assert 1 == Session(graph=tf.Graph()).partial_run()
