"""Does the documentation's TensorFlow code print what the pages show? In a process of its own, as a reader's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.record import DOCS, pages


@pytest.mark.parametrize("page", pages("tensorflow"), ids=lambda page: page.stem)
def test_code_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    copy = shutil.copy(page, tmp_path)
    environ = os.environ | {"PYTHONPATH": str(DOCS.parents[1]), "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run([sys.executable, "-m", "tests.docs.record", copy], env=environ, cwd=DOCS.parents[1], check=True)

    assert page.read_text(encoding="utf-8") == Path(copy).read_text(encoding="utf-8")
