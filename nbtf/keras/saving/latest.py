"""Which of the files of a folder is the last that was saved there?"""

from __future__ import annotations

import json
from pathlib import Path

from nbtf._storage import files

STATE = "checkpoint"
"""The file in each folder that says which checkpoint is the last."""


def note_latest(prefix: str, kept: list[str], file_name: str = STATE) -> None:
    """Writes down which checkpoint of a folder is the last, and which there are."""
    path = Path(prefix)
    names = [Path(one).name for one in kept]
    state = {"model_checkpoint_path": path.name, "all_model_checkpoint_paths": names}
    files.write(path.parent / file_name, json.dumps(state, indent=1))
