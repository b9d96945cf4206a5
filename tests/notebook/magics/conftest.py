"""What do tests of magics share? A process without other array libraries, whatever tests before have imported."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides PyTorch and the like: magics say of each that is imported that its ops are recorded, too."""
    for name in ("torch", "cupy", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
