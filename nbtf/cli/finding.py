"""What is one line of `nbtf doctor`?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: the state (`ok`, `missing`, `wrong` or `note`), the subject, and its version or what to do."""

    state: str
    subject: str
    text: str
