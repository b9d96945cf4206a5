"""What do tests of other libraries share? Where PyTorch is missing they skip; of a JAX that has begun, the next sees nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

collect_ignore = [] if find_spec("torch") else ["torch_programs.py"]  # tests skip by themselves; their programs cannot


@pytest.fixture(autouse=True)
def jax_that_has_not_begun() -> Iterator[None]:
    """Ends what a test began of JAX: a check says of a JAX that has begun that it may have run what was not recorded."""
    yield
    jax = sys.modules.get("jax")
    if hasattr(jax, "__version__"):  # JAX itself, no stand-in
        from jax.extend.backend import clear_backends

        clear_backends()
