"""Is what is no recording refused by everything that draws one?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf

pytest.importorskip("anywidget")

DRAWING = [
    tf.notebook.device_picture,
    tf.notebook.memory_picture,
    tf.notebook.RecordingView,
    lambda record: tf.notebook.save_page(record, Path("never-written.html")),
]


@pytest.mark.parametrize("record", [None, 3, "record.html", [], object()], ids=type)
@pytest.mark.parametrize("draw", DRAWING, ids=["map", "memory", "view", "page"])
def test_it_is_refused_with_what_came(draw: Callable[[Any], object], record: object) -> None:
    with pytest.raises(TypeError, match=r"`record` must be a recording from tf\.runtime\.recording\(\)\. Got "):
        draw(record)
