"""Who holds the memory of JAX's arrays? Each part on its device, with JAX's own devices for the host in their stead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

PROGRAM = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from nbtf._frameworks import jax as told
told._CARDS = ("cpu",)
mesh = Mesh(np.array(jax.devices()), ("rows",))
split = jax.device_put(jnp.ones((1024, 64)), NamedSharding(mesh, P("rows")))
copied = jax.device_put(jnp.ones((16, 64)), NamedSharding(mesh, P()))
arrays = told.Jax(jax).arrays()
print(json.dumps([[(each.device, each.nbytes) for each in arrays.pieces(array)] for array in (split, copied)]))
from tests.shells import interactive_shell
import nbtf as tf
from pathlib import Path
with interactive_shell(Path(sys.argv[1])) as shell:
    tf.load_ipython_extension(shell)
    shell.user_ns["split"] = split
    del split, copied
    rows = shell.run_line_magic("gpu_memory", "--who").rows
    of_jax = [row for row in rows if row.get("library") == "JAX"]
    print(json.dumps([(row["device"], row["holder"].partition(",")[0], row["nbytes"]) for row in of_jax]))
"""


@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
def test_each_part_of_an_array_is_on_its_device(tmp_path: object) -> None:
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}

    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )

    assert process.returncode == 0, process.stderr[-2000:]
    pieces, rows = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("[")]
    assert pieces[0] == [[f"cuda:{number}", 1024 * 64] for number in range(4)]
    assert pieces[1] == [[f"cuda:{number}", 16 * 64 * 4] for number in range(4)]
    assert sorted(rows) == [[f"cuda:{number}", "split", 1024 * 64] for number in range(4)]
