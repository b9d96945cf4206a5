"""What do tests of other libraries share? Without PyTorch they skip; a JAX that one began is not the next one's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

collect_ignore = [] if find_spec("torch") else ["torch_programs.py"]  # tests skip by themselves; their programs cannot


@pytest.fixture(autouse=True)
def jax_that_has_not_begun() -> Iterator[None]:
    """Ends the JAX that a test began, of which checks say that it may have run what was not recorded."""
    yield
    jax = sys.modules.get("jax")
    if hasattr(jax, "__version__"):  # JAX itself, no stand-in
        from jax.extend.backend import clear_backends

        clear_backends()
