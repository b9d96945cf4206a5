"""What does `nbtf doctor` say in one line?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `ok`, `missing`, `wrong` or `note`, of what, and the version or what to do."""

    state: str
    subject: str
    text: str
