"""Does every sentence of ours that counts something say what one of it is called?"""

from __future__ import annotations

import re
from pathlib import Path

import nbtf

PACKAGE = Path(nbtf.__file__).parent
OWN_PLURAL = re.compile(r"""(['"])(\w*)\1 if [^"'\n]*== 1 else (['"])(?:\2e?s|\w+ies)\3""")
OTHERWISE = {"data/selections.py": "a sentence of TensorFlow's"}
"""Files in which that is no plural of ours."""


def test_plurals_are_made_in_one_place() -> None:
    sources = {str(file.relative_to(PACKAGE)): file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")}

    own = {name for name, source in sources.items() if OWN_PLURAL.search(source)}

    assert OTHERWISE.keys() == own, "nbtf._counts.counted says it"
    assert OWN_PLURAL.search("f\"{n} {'copy' if n == 1 else 'copies'}, {m} GPU{'' if m == 1 else 's'}\"")
