"""Does the documentation's PyTorch code print what the pages show?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.record import DOCS, pages

torch = pytest.importorskip("torch", reason="needs PyTorch")


@pytest.mark.skipif(bool(torch.version.cuda), reason="needs PyTorch's build for the CPU: its GPUs are simulated")
@pytest.mark.parametrize("page", pages(with_torch=True), ids=lambda page: page.stem)
def test_code_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    copy = shutil.copy(page, tmp_path)
    environ = os.environ | {"PYTHONPATH": str(DOCS.parents[1])}
    subprocess.run([sys.executable, "-m", "tests.docs.record", copy], env=environ, cwd=DOCS.parents[1], check=True)

    assert page.read_text(encoding="utf-8") == Path(copy).read_text(encoding="utf-8")
