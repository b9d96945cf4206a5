"""What is in a memory snapshot that PyTorch wrote on a machine with real cards?"""

from __future__ import annotations

import os

from nbtf._snapshots.opened import OpenedSnapshot as OpenedSnapshot
from nbtf._snapshots.reading import open_snapshot


def read_snapshot(path: str | os.PathLike[str]) -> OpenedSnapshot:
    """Returns the memory snapshot in a file that `torch.cuda.memory._dump_snapshot` wrote. Nothing in it is run.

    The file is a pickle, JSON or an SQLite database, and may be compressed with gzip. `print` shows a summary: peaks,
    fragmentation, the lines that hold the memory, failed requests, and facts that the file lacks.

    Args:
      path: the file.

    Raises:
      TypeError: if `path` is not a path.
      OSError: if the file cannot be read.
      tf.errors.DataLossError: if it is not a memory snapshot, or is damaged. It is also a `ValueError`.

    >>> import json, pathlib, tempfile
    >>> block = {"size": 3 << 20, "requested_size": 3 << 20, "state": "active_allocated"}
    >>> segment = {"address": 4096, "total_size": 20 << 20, "blocks": [block]}
    >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
    >>> _ = file.write_text(json.dumps([segment]))
    >>> print(tf.runtime.read_snapshot(file))
    snapshot.json: memory snapshot of PyTorch (JSON), measured
    GPU:0: 0 events, 0 allocations
      peak allocated 3 MiB at the beginning
      peak reserved  20 MiB; at the peak 17 MiB of 20 MiB free in 1 hole, the largest 17 MiB
      held at the peak:
             3 MiB  allocated before the history (1 allocation)
      note: The file has no history of this device, only its memory at one moment.
    """
    return OpenedSnapshot.of(open_snapshot(path))
