"""Does nbtf, brought along to a process that has none, leave nothing behind?"""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

from nbtf._cluster import courier
from nbtf._cluster.look import packed

PROGRAM = """
import sys, zlib
from pathlib import Path
source, package = (Path(name).read_bytes() for name in sys.argv[1:])
sys.path = [path for path in sys.path if not (Path(path) / "nbtf" / "__init__.py").exists()]
sys.meta_path = [finder for finder in sys.meta_path if "nbtf" not in repr(finder)]
namespace = {"__name__": "text"}
exec(source, namespace)
before = len(sys.meta_path)
for _ in range(2):
    with namespace["borrowed"](package):
        from nbtf._cluster.report import report
        print(sorted(report({}, 1.0, False)))
print([name for name in sys.modules if name.split(".")[0] == "nbtf"], len(sys.meta_path) - before)
"""


def test_a_process_without_nbtf_tells_and_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "package").write_bytes(packed())
    files = [courier.__file__, tmp_path / "package"]

    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *files], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )

    expected = sorted(["cards", "missing", "pools", "devices", "holders", "complete"])
    assert f"{expected}\n{expected}\n[] 0\n" == result.stdout, result.stderr


def test_what_is_sent_needs_the_standard_library_alone() -> None:
    tree = ast.parse(Path(courier.__file__).read_text(encoding="utf-8"))
    roots = {
        name.partition(".")[0]
        for node in tree.body
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }

    assert set() == roots - sys.stdlib_module_names


def test_another_version_is_not_mixed_with_this_one() -> None:
    answer = asyncio.run(courier.tell("0.0.1", None, 1.0))

    assert "but nbtf 0.0.1 asks" in answer["problem"]
