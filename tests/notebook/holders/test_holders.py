"""Are holders found in bounded time, without running their code and without keeping them alive?"""

from __future__ import annotations

import gc
import json
import sys
import weakref
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.holders import holders
from nbtf.notebook.holders.holders import Holders, holder_names, in_few_words
from nbtf.notebook.holders.table import build_table
from nbtf.notebook.session import SESSIONS, Session
from tests.machines import SCRATCH
from tests.notebook.conftest import ENOUGH, Shell


@pytest.fixture
def session(shell: Shell) -> Session:
    return SESSIONS[shell.ip]


def piece_of(tensor: Any) -> tuple[str, int, int]:
    held = tf.runtime.holding(tensor)
    assert held is not None
    return held.device, held.region, held.offset


def names(session: Session, *lines: str) -> list[str]:
    """Runs cells that make one tensor of 10 x 10, and returns who holds it."""
    for line in lines:
        result = session.shell.run_cell(line)
        assert result.error_in_exec is None
    found = Holders(session, ENOUGH)
    return [place.text for piece in found.by_piece for place in found.names(piece)]


def labels(session: Session) -> list[str]:
    return [*holder_names(session, ENOUGH)[0].values()]


def test_labels_are_short(session: Session, shell: Shell) -> None:
    shell.run("x = tf.ones([10]); y = x; z = tf.reshape(x, [2, 5]); w = [x]")
    shell.run("x")

    assert ({piece_of(shell.ip.user_ns["x"]): "x, y, w[0] and 2 more"}, True) == holder_names(session, ENOUGH)


def test_output_is_named_once_in_a_label(session: Session, shell: Shell) -> None:
    shell.run("x = tf.ones([10])")
    shell.run("x")

    assert ["x, Out[2]"] == labels(session)


def test_long_name_is_cut_in_a_label() -> None:
    assert f"{'a' * 59}…" == in_few_words(["a" * 100])


def test_nothing_is_looked_at_while_nothing_is_in_use(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtf.notebook.holders.holders.Holders", None)

    assert ({}, True) == holder_names(session, ENOUGH)


def test_shortest_name_is_told_first(session: Session) -> None:
    found = names(session, "a = [[[tf.ones([10])]]]; d = {'deep': {'er': a[0][0]}}; s = a[0][0]")

    assert ["s[0]", "a[0][0][0]", "d['deep']['er'][0]"] == found


def test_what_leads_back_to_itself_ends(session: Session) -> None:
    found = names(session, "a = []; a.append(a); a.append(tf.ones([10])); b = {'a': a}; a.append(b)")

    assert ["a[1]", "b['a'][1]"] == found


def test_very_deep_path_is_cut(session: Session) -> None:
    (found,) = names(session, "a = [tf.ones([10])]", "for _ in range(5000): a = [a]")

    assert ("a[0][0]", "…", 100) == (found[:7], found[59], len(found))


HOSTILE = """
class Hostile:
    def __getattribute__(self, name): raise SystemExit('looked at')
    def __getattr__(self, name): raise SystemExit('looked at')
    def __repr__(self): raise SystemExit('looked at')
    def __eq__(self, other): raise SystemExit('looked at')
    def __hash__(self): return 1
    def __bool__(self): raise SystemExit('looked at')
    def __len__(self): raise SystemExit('looked at')
    def __iter__(self): raise SystemExit('looked at')
    __dir__ = __sizeof__ = __iter__
    @property
    def __class__(self): raise SystemExit('looked at')
class Meta(type):
    def __getattribute__(cls, name): raise SystemExit('looked at')
    def __instancecheck__(cls, other): raise SystemExit('looked at')
    def __subclasscheck__(cls, other): raise SystemExit('looked at')
    def __eq__(cls, other): raise SystemExit('looked at')
    def __hash__(cls): raise SystemExit('looked at')
class Dict(dict):
    def items(self): raise SystemExit('looked at')
    __iter__ = keys = values = __getitem__ = __len__ = items
class List(list):
    def __iter__(self): raise SystemExit('looked at')
    __getitem__ = __len__ = __iter__
class Classy(metaclass=Meta): pass
class Text(str):
    def __repr__(self): raise SystemExit('looked at')
"""

HELD = {
    "hostile.x": "hostile = Hostile(); object.__setattr__(hostile, 'x', tf.ones([10]))",
    "classy.x": "classy = Classy(); classy.x = tf.ones([10])",
    "items[0].y": "items = [Classy()]; items[0].y = tf.ones([10])",
    "d['x']": "d = Dict(); dict.__setitem__(d, 'x', tf.ones([10]))",
    "items[0]": "items = List([tf.ones([10])])",
    "d[<Hostile>]": "d = {Hostile(): tf.ones([10])}",
    "d[<Text>]": "d = {Text('x'): tf.ones([10])}",
    "items[1]": "items = [Hostile(), tf.ones([10])]",
}


@pytest.mark.parametrize("name", HELD)
def test_no_code_of_what_holds_it_runs(session: Session, shell: Shell, name: str) -> None:
    shell.run(HOSTILE)
    shell.run(HELD[name])
    table = shell.run("%gpu_memory --who")

    assert None is table.error
    assert name in [row["holder"] for row in table.result.to_dict()["rows"]]
    assert [name] == labels(session)


def test_nothing_is_kept_alive(session: Session, shell: Shell) -> None:
    shell.run("class Owner: pass", "owner = Owner(); owner.x = tf.ones([10])")
    gone = weakref.ref(shell.ip.user_ns["owner"])
    gc.disable()
    try:
        assert None is shell.run("%gpu_memory --who").error
        assert ["owner.x"] == labels(session)
        shell.run("del owner")

        assert None is gone()
        assert SCRATCH == tf.runtime.devices()[1].in_use
    finally:
        gc.enable()


def test_long_lists_wait_until_all_else_was_looked_at(
    session: Session, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holders, "users_modules", list)  # this process has those of other tests
    shell.run("a = [[] for _ in range(100_000)]; x = [[tf.ones([10])]]")
    found = Holders(session, 0.0)

    assert (False, 1) == (found.finished, len(found.by_piece))


def test_search_that_is_cut_says_how_far_it_came(session: Session, shell: Shell) -> None:
    shell.run("a = [[[] for _ in range(10)] for _ in range(1000)]; x = [[[[tf.ones([10])]]]]")
    found = Holders(session, 0.0)

    assert not found.finished
    assert 0 < found.looked < 10_000
    assert not holder_names(session, 0.0)[1]
    table = build_table(session, ["GPU:0"], seconds=0.0)
    assert "The search stopped after 0 s and" in repr(table)
    assert "not found in time" in [row["holder"] for row in table.rows]


def test_many_pieces_that_were_not_looked_at_are_one_row(session: Session, shell: Shell) -> None:
    shell.run("x = {number: tf.ones([10]) for number in range(20)}")
    rows = [row for row in build_table(session, ["GPU:0"], seconds=0.0).rows if row["op"] == "Fill"]

    assert [("not found in time (20 tensors)", 20, 20 * 256)] == [
        (row["holder"], row["pieces"], row["nbytes"]) for row in rows
    ]


def test_modules_that_are_installed_are_not_entered(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "kept", [], raising=False)

    assert ["x"] == names(session, "import json; x = tf.ones([10, 10]); json.kept.append(x)")


def test_what_imported_a_module_is_not_searched(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    module, tensor = ModuleType("of_a_user"), tf.ones([10, 10])
    monkeypatch.setattr(module, "__loader__", SimpleNamespace(tensor=tensor))
    monkeypatch.setitem(sys.modules, "of_a_user", module)
    assert [] == labels(session)

    monkeypatch.setattr(module, "kept", SimpleNamespace(tensor=tensor), raising=False)
    assert ["of_a_user.kept.tensor"] == labels(session)
