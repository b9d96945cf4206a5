"""Is every public name of the real Keras either in nbtf's `tf.keras` or on the list of names beyond its border?"""

from __future__ import annotations

from nbtf.keras.border import BEYOND
from tests.frameworks.keras.conftest import on_nbtf

PROGRAM = """
from importlib import import_module
from nbtf.keras.border import BEYOND
roots = ("keras", "keras._tf_keras.keras")
for module, names in BEYOND.items():
    real = set()
    for root in roots:
        try:
            real.update(dir(import_module(module.replace("nbtf.keras", root))))
        except ImportError:
            pass
    listed, own = set(names.split()), set(dir(import_module(module)))
    print(module, sorted(listed - real), sorted(listed & own))
"""


def test_no_name_is_listed_that_keras_lacks_or_nbtf_has() -> None:
    lines = on_nbtf(PROGRAM).splitlines()

    assert len(lines) == len(BEYOND)
    assert [] == [line for line in lines if not line.endswith(" [] []")]
