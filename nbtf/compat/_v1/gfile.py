"""`tf.gfile`: files and folders, under TensorFlow 1's names; see `tf.io.gfile`."""

from __future__ import annotations

from nbtf._public import public_names as _public_names
from nbtf._storage import gfile as _gfile

GFile = Open = FastGFile = _gfile.GFile
Copy = _gfile.copy
DeleteRecursively = _gfile.rmtree
Exists = _gfile.exists
Glob = _gfile.glob
IsDirectory = _gfile.isdir
ListDirectory = _gfile.listdir
MakeDirs = _gfile.makedirs
MkDir = _gfile.mkdir
Remove = _gfile.remove
Rename = _gfile.rename
Stat = _gfile.stat
Walk = _gfile.walk


def __dir__() -> list[str]:
    return _public_names(__name__)
