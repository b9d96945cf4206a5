"""Reviews of films, as numbers of words."""

from __future__ import annotations

from typing import NoReturn

from nbtf.keras.datasets.cache import folder


def load_data(path: str = "imdb.npz", **kwargs: object) -> NoReturn:
    """Refuses: the file of this data set holds pickled objects, which nbtf does not execute.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        f"{folder() / path} holds pickled Python objects, and reading them means executing them. "
        "tf.keras.datasets.digits.load_data() needs no file."
    )
