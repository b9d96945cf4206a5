"""Rewrites checkpoints as nbtf wrote them before TensorFlow's format: an archive of arrays, and JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._storage.latest import read_state
from nbtf._storage.tensor_bundle import TensorBundle, files_of
from nbtf.train.object_graph import GRAPH_KEY
from nbtf.train.tensorflow_graph import from_message


def as_older(prefix: str | os.PathLike[str]) -> Path:
    """Replaces the files of a checkpoint by an older one with the same values, and returns its file."""
    values: dict[str, Any] = TensorBundle(prefix).read_all()
    graph = values.pop(GRAPH_KEY, None)
    if graph is not None:
        entries = [
            {"children": node.children} | ({} if node.key is None else {"key": node.key, "name": node.name})
            for node in from_message(graph.item(), prefix)
        ]
        values[GRAPH_KEY] = json.dumps({"version": 1, "nodes": entries}).encode()
    for file in files_of(prefix):
        file.unlink()
    older = Path(f"{os.fspath(prefix)}.npz")
    for name, value in values.items():
        if name != GRAPH_KEY and value.dtype.kind == "O":
            values[name] = np.array(value.tolist(), np.bytes_)
    np.savez(older, **values)
    return older


def with_older_state(folder: Path) -> Path:
    """Replaces the state file of a folder by an older one, and returns it."""
    state: Any = read_state(folder)
    document = {
        "model_checkpoint_path": Path(state.latest).name,
        "all_model_checkpoint_paths": [Path(path).name for path in state.paths],
        "all_model_checkpoint_timestamps": state.times,
        "last_preserved_timestamp": state.preserved,
    }
    file = folder / "checkpoint"
    file.write_text(json.dumps(document, indent=1))
    return file
