"""Film reviews as lists of word numbers; not available in nbtf."""

from __future__ import annotations

from typing import NoReturn

from nbtf.keras.datasets.cache import folder


def load_data(path: str = "imdb.npz", **kwargs: object) -> NoReturn:
    """Raises an error: the file of this data set contains pickled objects, which nbtf does not execute.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        f"{folder() / path} contains pickled Python objects, and loading them could execute any code. "
        "tf.keras.datasets.digits.load_data() needs no file."
    )
