"""Is what XLA has planned for a compiled function shown as that, and is what nobody can know said?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf

PROGRAM = """
import json, sys
from pathlib import Path
import jax, jax.numpy as jnp
import nbtf as tf
from tests.shells import interactive_shell
x, w = jnp.ones((128, 256)), jnp.ones((256, 64))
function = jax.jit(lambda x, w: jnp.tanh(x @ w) @ w.T, donate_argnums=0)
compiled = function.lower(x, w).compile()
plan = tf.runtime.compiled_memory(compiled)
print(json.dumps([plan.arguments, plan.results, plan.reused, plan.at_most, plan.temporaries, plan.code]))
with interactive_shell(Path(sys.argv[1])) as shell:
    tf.load_ipython_extension(shell)
    shell.user_ns |= {"compiled": compiled, "function": function, "lowered": function.lower(x, w)}
    table = shell.run_line_magic("gpu_memory", "--compiled compiled")
    print(json.dumps([{row["part"]: row["nbytes"] for row in table.rows}, table.notes]))
    for name in ("function", "lowered", "missing"):
        shell.run_cell(f"%gpu_memory --compiled {name}")
"""


def ask(folder: Path) -> tuple[list[Any], str]:
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)],
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    answers = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("[")]
    return answers, process.stdout + process.stderr


@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
def test_plan_of_a_compiled_function_is_a_table_that_says_what_it_is(tmp_path: Path) -> None:
    [(arguments, results, reused, at_most, temporaries, code), (parts, notes)], said = ask(tmp_path)

    assert (128 * 256 * 4 + 256 * 64 * 4, 128 * 256 * 4) == (arguments, results)
    assert arguments + results - reused + temporaries + code == at_most == parts["together at most"]
    assert (arguments, -reused) == (parts["arguments"], parts["results in the place of donated arguments"])
    assert any("Planned, not measured" in note for note in notes)
    assert any("compiled for the CPU" in note for note in notes)
    assert "a function of jax.jit, which has no plan" in said
    assert "the result of lower(): call .compile() on it" in said
    assert "no variable missing" in said


def test_what_jax_has_not_compiled_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must be a compiled JAX function.* Got list"):
        tf.runtime.compiled_memory([])
