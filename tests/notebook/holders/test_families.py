"""Is the short way to the names of many tensors the same as the long one, whatever holds them?"""

from __future__ import annotations

import random
from typing import Any

import pytest

from nbtf.notebook.holders import table
from nbtf.notebook.holders.families import Families
from nbtf.notebook.holders.freeing import _Cut
from nbtf.notebook.holders.holders import Holders, Item
from nbtf.notebook.holders.search import Graph
from nbtf.notebook.session import SESSIONS
from tests.notebook.conftest import ENOUGH, Shell
from tests.rings import seeds

LAYERS = (
    "[{}, {}, {}]",
    "({}, {})",
    "[{}]",
    "{{'a': {}, 2: {}, (1, 2): {}}}",
    "{{'a rather long key of a dictionary': {}, 'another one': [{}]}}",
    "types.SimpleNamespace(first={}, _second={})",
    "type('Slotted', (), {{'__slots__': ('x', 'y')}})()",
    "collections.deque([{}, {}])",
    "collections.namedtuple('Pair', 'left right')({}, {})",
    "type('Own', (list,), {{}})([{}, {}])",
    "(lambda a, b: lambda: (a, b))({}, {})",
    "functools.partial(print, {}, end={})",
    "iter([{}, {}])",
)
LEAVES = (
    "tf.ones([{}])",
    "tf.Variable(tf.ones([{}]))",
    "None",
    "shared",
    "[shared, shared]",
    "tf.reshape(shared, [-1])",
)


def source(order: random.Random, depth: int) -> str:
    """Returns an expression for an object that holds tensors, or nothing."""
    if depth == 0 or order.random() < 0.2:
        return order.choice(LEAVES).format(order.randint(1, 900))
    layer = order.choice(LAYERS)
    return layer.format(*[source(order, depth - 1) for _ in range(layer.count("{}"))])


def fill(shell: Shell, seed: int) -> None:
    """Has the user's variables hold tensors in many ways."""
    order = random.Random(seed)
    shell.run("import collections, functools, types", "shared = tf.ones([7])")
    for number in range(5):
        shell.run(f"x{number} = {source(order, 3)}")
        if order.random() < 0.3:
            shell.run(f"also{number} = [x{number}]")
        if order.random() < 0.2:
            shell.run(f"x{number}")
    layer = order.choice(LAYERS[:8])
    pairs = ", ".join(layer.format(*[source(order, 1) for _ in range(layer.count("{}"))]) for _ in range(4))
    shell.run(f"pairs = [{pairs}]")
    shell.run("long = [['a' * 40, {'b' * 50: {'c' * 55: [tf.ones([3]), tf.ones([3])]}}]]; again = long[0]")
    shell.run("if isinstance(x0, list): x0.append(x0)")


@pytest.mark.parametrize("seed", seeds(24))
def test_names_by_stem_and_last_step_are_those_of_the_tensor_alone(shell: Shell, seed: int) -> None:
    fill(shell, seed)
    holders = Holders(SESSIONS[shell.ip], ENOUGH)

    owners = {piece: holders.owner(piece) for piece in holders.by_piece}

    assert any(isinstance(owner, Item) for owner in owners.values())
    for piece, owner in owners.items():
        assert holders.of(piece) == (owner.with_names if isinstance(owner, Item) else owner)
        if isinstance(owner, Item):
            assert holders.are_variables(piece) == owner.is_variable


ONE_BY_ONE = {
    "tensors are asked where they lead": (Graph, "_leading", lambda _, first, __: (first + 1, True)),
    "entries are freed": (_Cut, "goes_with_freed", lambda *_: False),
    "objects are named": (Families, "_inner", lambda *_: None),
}


@pytest.mark.parametrize("patch", ONE_BY_ONE.values(), ids=ONE_BY_ONE)
@pytest.mark.parametrize("seed", range(12))
def test_table_is_the_same_where_each_tensor_is_asked_alone(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, seed: int, patch: tuple[type, str, Any]
) -> None:
    fill(shell, seed)
    together = table_of(shell)

    monkeypatch.setattr(*patch)

    assert table_of(shell) == together


def test_pairs_of_a_list_are_called_by_the_list(shell: Shell) -> None:
    shell.run("pairs = [(tf.ones([64]), [tf.ones([64])]) for _ in range(3)]")
    holders = Holders(SESSIONS[shell.ip], ENOUGH)

    items = [holders.owner(piece) for piece in holders.by_piece]

    assert {Item} == {type(item) for item in items}
    assert 1 == len({item.outermost for item in items if isinstance(item, Item)})


def table_of(shell: Shell) -> dict[str, Any]:
    return shell.run("%gpu_memory --who").result.to_dict()


def test_rows_of_a_list_are_built_when_somebody_looks(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("held = [tf.ones([64]) for _ in range(100)]")
    built: list[int] = []
    build = table._holder_facts

    def count(entry: Any) -> dict[str, Any]:
        built.append(entry.nbytes)
        return build(entry)

    monkeypatch.setattr(table, "_holder_facts", count)
    answer = shell.run("%gpu_memory --who").result
    built.clear()

    text = repr(answer)

    assert (True, 3) == ("and 97 more" in text, len(built))
    assert [f"held[{number}]" for number in range(100)] == [
        part["holder"] for part in answer.to_dict()["rows"][0]["parts"]
    ]
