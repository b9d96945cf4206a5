"""Each test begins to count names anew."""

from __future__ import annotations

import pytest

from nbtf.keras.session import clear_session


@pytest.fixture(autouse=True)
def fresh_session() -> None:
    clear_session()
