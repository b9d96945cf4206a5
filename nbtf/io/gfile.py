"""`tf.io.gfile`: files and folders on this computer."""

from nbtf._public import public_names as _public_names
from nbtf._storage.gfile import copy as copy
from nbtf._storage.gfile import exists as exists
from nbtf._storage.gfile import get_registered_schemes as get_registered_schemes
from nbtf._storage.gfile import glob as glob
from nbtf._storage.gfile import isdir as isdir
from nbtf._storage.gfile import join as join
from nbtf._storage.gfile import listdir as listdir
from nbtf._storage.gfile import makedirs as makedirs
from nbtf._storage.gfile import mkdir as mkdir
from nbtf._storage.gfile import remove as remove
from nbtf._storage.gfile import rename as rename
from nbtf._storage.gfile import rmtree as rmtree
from nbtf._storage.gfile import stat as stat
from nbtf._storage.gfile import walk as walk
from nbtf._storage.opened_file import GFile as GFile


def __dir__() -> list[str]:
    return _public_names(__name__)
