"""Does a view follow the cell that runs where the page has no panels, and only there?"""

from __future__ import annotations

from typing import Any

import pytest

from nbtf.notebook.session import SESSIONS
from tests.notebook.conftest import Shell
from tests.notebook.views.test_widgets import bundle, inline, sent

__all__ = ["inline", "sent"]

widgets = pytest.importorskip("nbtf.notebook.views.widgets")

pytestmark = pytest.mark.filterwarnings("ignore:Deprecated in traitlets 4.1:DeprecationWarning")  # by ipywidgets 8.0

WIDGET = "application/vnd.jupyter.widget-view+json"
LIVE = "%devices --live"

Outputs = dict[str, list[dict[str, Any]]]


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> Outputs:
    """What each output has held, the newest last, by the name under which it can be changed."""
    held: Outputs = {}

    def publish(data: dict[str, Any], metadata: Any, transient: dict[str, str], update: bool = False) -> None:
        assert update == (transient["display_id"] in held)
        assert metadata["nbtf"] == {"follows": True}, "whoever compares cells leaves it out"
        held.setdefault(transient["display_id"], []).append(data)

    monkeypatch.setattr(widgets, "_publish", publish)
    return held


def in_sight(outputs: Outputs) -> list[bool]:
    """Whether each output shows the view, in the order of cells."""
    return [WIDGET in bundles[-1] for bundles in outputs.values()]


def look(view: Any, **page: Any) -> None:
    """Has a page say that it shows the view."""
    view._handle_custom_msg({"kind": "view", "n": 1, **page}, [])


def test_strip_stands_in_the_last_cell_alone(inline: Shell, outputs: Outputs) -> None:
    look(inline.run(LIVE).result, panels=False)
    in_cells: list[list[bool]] = []
    for _ in range(3):
        inline.run("a = tf.ones([2])")
        in_cells.append(in_sight(outputs))

    assert [[True], [False, True], [False, False, True]] == in_cells


def test_strip_is_there_before_the_cell_runs(inline: Shell, outputs: Outputs) -> None:
    view = inline.run(LIVE).result
    look(view, panels=False)
    inline.ip.user_ns["look"] = lambda: (in_sight(outputs), view.state["busy"])

    assert ([True], True) == inline.run("look()").result


@pytest.mark.parametrize("page", [{"panels": True}, {}, {"panels": "no"}], ids=["panels", "unsaid", "nonsense"])
def test_page_that_may_have_panels_shows_no_strip(inline: Shell, outputs: Outputs, page: dict[str, Any]) -> None:
    look(inline.run(LIVE).result, **page)
    inline.run("a = tf.ones([2])")

    assert {} == outputs


def test_panels_of_any_page_are_enough(inline: Shell, outputs: Outputs) -> None:
    view = inline.run(LIVE).result
    for panels in (False, True, False):
        look(view, panels=panels)
    inline.run("a = tf.ones([2])")

    assert {} == outputs


@pytest.mark.parametrize("line", ["%devices --live --here", "%gpu_memory --live", "tf.notebook.DeviceMap()"])
def test_view_that_stays_in_its_cell_has_no_strip(inline: Shell, outputs: Outputs, line: str) -> None:
    look(inline.run(line).result, panels=False)
    inline.run("a = tf.ones([2])")

    assert {} == outputs


def test_nobody_looks_and_nothing_is_shown(inline: Shell, outputs: Outputs) -> None:
    view = inline.run(LIVE).result
    look(view, panels=False)
    view._handle_custom_msg({"kind": "view", "n": -1}, [])
    inline.run("a = tf.ones([2])")

    assert {} == outputs


def test_where_outputs_are_documents_the_first_cell_has_it_too(inline: Shell, outputs: Outputs) -> None:
    inline.ip.user_ns["__vsc_ipynb_file__"] = "a.ipynb"
    bundle(inline, LIVE)
    inline.run("a = tf.ones([2])")

    assert [True] == in_sight(outputs)


def test_cell_that_shows_the_view_has_no_strip_beside_it(inline: Shell, outputs: Outputs) -> None:
    look(inline.run(LIVE).result, panels=False)
    bundle(inline, LIVE)

    assert [False] == in_sight(outputs)


def test_question_of_the_front_end_is_no_cell(inline: Shell, outputs: Outputs) -> None:
    look(inline.run(LIVE).result, panels=False)
    inline.ip.run_cell("a = 1", store_history=False)
    inline.ip.run_cell("get_ipython().run_cell('b = 1')", store_history=True)

    assert [True] == in_sight(outputs)


def test_strip_that_cannot_be_shown_leaves_the_cell_alone(
    inline: Shell, outputs: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(inline.run(LIVE).result, panels=False)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the front end is gone")

    monkeypatch.setattr(widgets, "_publish", fail)
    ran = inline.run("1 + 1")
    pump = SESSIONS[inline.ip].pump

    assert (2, None) == (ran.result, ran.error)
    assert pump is not None
    assert "the front end is gone" == str(pump.failure)
