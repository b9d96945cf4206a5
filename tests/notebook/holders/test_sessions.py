"""Does `%gpu_memory --who` name the variables of a session, and does the line beside one free its memory?"""

from __future__ import annotations

import pytest

from tests.notebook.conftest import Shell
from tests.notebook.holders.test_table import in_use, rows, run
from tests.notebook.holders.test_table import time_enough as time_enough

BUILD = [
    "import nbtf.compat.v1 as tf1",
    "graph = tf1.Graph()",
    "with graph.as_default(): made = tf1.zeros([500, 100])",
    "with graph.as_default(): v = tf1.Variable(made, name='net/v')",
    "sess = tf1.Session(graph=graph)",
    "sess.run(v.initializer)",
]


def test_a_variable_is_called_after_its_session_and_node(shell: Shell) -> None:
    run(shell, BUILD)

    assert [("sess: variable net/v", ["sess.close()"])] == [
        (row["holder"], row["frees"]) for row in rows(shell, "--all")
    ]


def test_the_line_beside_it_frees_it(shell: Shell) -> None:
    run(shell, BUILD)
    (row,) = rows(shell)
    before = in_use()

    run(shell, row["frees"])

    assert before is not None
    assert before - row["nbytes"] >= (in_use() or 0)


@pytest.mark.parametrize("end", ["del sess", "sess = None"])
def test_a_session_without_a_name_holds_nothing(shell: Shell, end: str) -> None:
    run(shell, [*BUILD, end])

    assert [] == rows(shell)


def test_a_variable_and_the_constant_it_began_with_share_their_memory(shell: Shell) -> None:
    run(
        shell,
        [
            *BUILD[:2],
            "import numpy as np",
            "with graph.as_default(): v = tf1.Variable(np.ones([500, 100], np.float32), name='v')",
            *BUILD[4:],
        ],
    )

    (row,) = rows(shell)

    assert ["sess.close()"] == row["frees"]
    told = {name for key in ("names", "views") for name in row[key]}
    assert {"sess: variable v", "sess: constant v/initial_value"} == told
