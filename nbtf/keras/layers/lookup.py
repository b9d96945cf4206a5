"""Layers that convert words and other values to numbers by a vocabulary."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import numpy as np

from nbtf._ops.arrays.creation import convert_to_tensor
from nbtf._storage.reading import read_text
from nbtf.errors import FailedPreconditionError, InvalidArgumentError
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.preprocessing import batches_of, encoded, encoded_shape
from nbtf.keras.symbolic import KerasTensor

_MODES = ("int", "one_hot", "multi_hot", "count")


MOST_FREE_NUMBERS = 1 << 24
"""A vocabulary lists each of these numbers; more would fill the memory."""


class Lookup(Layer):
    """Base class of both lookup layers.

    Args:
      max_tokens: size limit of the vocabulary, including reserved numbers; None for no limit.
      num_oov_indices: number of reserved numbers for values that are not in the vocabulary; 1 by default.
      mask_token: value that stands for padding and gets the number 0.
      oov_token: value that is returned for unknown numbers if `invert` is true.
      vocabulary: the values in order, or the path of a file with one value per line.
      invert: whether to convert numbers back to values; false by default.
      output_mode: `"int"`, or an encoding of `CategoryEncoding`.

    Raises:
      ValueError: if the mode is unknown, or if the vocabulary contains a value twice.
    """

    _config = ("max_tokens", "num_oov_indices", "mask_token", "oov_token", "invert", "output_mode")
    _takes = "string"

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: Any = None,
        oov_token: Any = None,
        vocabulary: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        **kwargs: Any,
    ) -> None:
        for name in (
            "idf_weights",
            "pad_to_max_tokens",
            "sparse",
            "encoding",
            "salt",
            "oov_method",
            "vocabulary_dtype",
        ):
            kwargs.pop(name, None)
        super().__init__(**kwargs)
        if output_mode not in _MODES:
            raise ValueError(f"Unknown arg for `output_mode`: `{output_mode}`. Known: {', '.join(_MODES)}.")
        self.max_tokens: int | None = max_tokens
        self.num_oov_indices: int = num_oov_indices
        self.mask_token: Any = mask_token
        self.oov_token: Any = oov_token
        self.invert: bool = invert
        self.output_mode = output_mode
        self.autocast = False
        self.__dict__["_words"] = None
        self.__dict__["_numbers"] = {}
        if vocabulary is not None:
            self.set_vocabulary(vocabulary)
        self.built = True

    _internal = Layer._internal | {"_words", "_numbers"}
    _words: list[Any] | None
    _numbers: dict[Any, int]

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Creates a layer from the result of `get_config`.

        Raises:
          ValueError: if the vocabulary is the name of a file: a config must not refer to other files.
        """
        if isinstance(config.get("vocabulary"), str):
            raise ValueError(
                f"The vocabulary in a config must be a list of words. Received the file {config['vocabulary']!r:.60}. "
                "Read it with `set_vocabulary` after loading."
            )
        return super().from_config(config)

    def _word(self, value: Any) -> Any:
        """Returns a value in the form used in the vocabulary."""
        raise NotImplementedError

    @property
    def _kept_free(self) -> list[Any]:
        masks = [] if self.mask_token is None else [self.mask_token]
        if self.num_oov_indices > MOST_FREE_NUMBERS:
            raise ValueError(f"`num_oov_indices` must be at most {MOST_FREE_NUMBERS}. Got {self.num_oov_indices}")
        return [*masks, *([self.oov_token] * self.num_oov_indices)]

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Sets the vocabulary.

        Args:
          vocabulary: the values in order, or the path of a file with one value per line.
          idf_weights: ignored.

        Raises:
          ValueError: if the file cannot be read, or if a value occurs twice.
        """
        if isinstance(vocabulary, str):
            try:
                vocabulary = read_text(vocabulary).splitlines()
            except OSError as error:
                raise ValueError(f"Vocabulary file {vocabulary} cannot be read: {error}") from error
        words = [self._word(value) for value in np.asarray(vocabulary).tolist()]
        free = [token for token in self._kept_free if token is not None]
        if words[: len(free)] == free:
            words = words[len(free) :]
        repeated = [word for word, count in Counter(words).items() if count > 1]
        if repeated:
            raise ValueError(
                "The passed vocabulary has at least one repeated term. Please uniquify your dataset. The repeated "
                f"terms are: {repeated}"
            )
        self.__dict__["_words"] = words
        first = len(self._kept_free)
        self.__dict__["_numbers"] = {word: first + index for index, word in enumerate(words)}
        if self.mask_token is not None:
            self._numbers[self.mask_token] = 0

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Builds the vocabulary from data: the most frequent values first, equally frequent ones in descending order.

        Args:
          data: an array, a tensor, or a dataset of batches.
          batch_size: ignored.
          steps: number of batches of a dataset to use; all by default.
        """
        counts = Counter(self._word(value) for value in batches_of(data, steps).ravel().tolist())
        for free in self._kept_free:
            counts.pop(free, None)
        words = sorted(counts, key=lambda word: (counts[word], word), reverse=True)
        limit = None if self.max_tokens is None else self.max_tokens - len(self._kept_free)
        self.set_vocabulary(words[:limit])

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """Returns the values in order, by default including the mask token and the tokens for unknown values."""
        words = list(self._words or ())
        return [*self._kept_free, *words] if include_special_tokens else words

    def vocabulary_size(self) -> int:
        """Returns the size of the vocabulary, including reserved numbers."""
        return len(self.get_vocabulary())

    vocab_size = vocabulary_size

    def call(self, inputs: Any) -> Any:
        if self._words is None:
            raise FailedPreconditionError("Table not initialized. Give a `vocabulary`, or call `adapt`.")
        values = np.asarray(inputs.numpy())
        if self.invert:
            vocabulary = self.get_vocabulary()
            words = [
                vocabulary[number] if 0 <= number < len(vocabulary) else self.oov_token
                for number in values.ravel().tolist()
            ]
            return convert_to_tensor(
                np.array(words, object if self._takes == "string" else "int64").reshape(values.shape)
            )
        numbers = np.array([self._number(value) for value in values.ravel().tolist()], "int64").reshape(values.shape)
        indices = convert_to_tensor(numbers)
        if self.output_mode == "int":
            return indices
        return encoded(indices, self.vocabulary_size(), self.output_mode, "int64")

    def _number(self, value: Any) -> int:
        word = self._word(value)
        number = self._numbers.get(word)
        if number is not None:
            return number
        first = 0 if self.mask_token is None else 1
        if self.num_oov_indices == 0:
            raise InvalidArgumentError(
                "When `num_oov_indices=0` all inputs should be in vocabulary, found OOV values "
                f"{[word]}, consider setting `num_oov_indices=1`."
            )
        return first if self.num_oov_indices == 1 else first + self._spread(word) % self.num_oov_indices

    def _spread(self, word: Any) -> int:
        return int(hashlib.blake2b(str(word).encode(), digest_size=8).hexdigest(), 16)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns symbolic results for symbolic inputs."""
        shape = args[0].shape
        if self.invert:
            return KerasTensor(shape, self._takes)
        shape = shape if self.output_mode == "int" else encoded_shape(shape, self.vocabulary_size(), self.output_mode)
        return KerasTensor(shape, "int64")

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "vocabulary": None if self._words is None else list(self._words)}


class StringLookup(Lookup):
    """Converts words to numbers by a vocabulary; see `IntegerLookup` for the arguments.

    >>> tf.keras.layers.StringLookup(vocabulary=["a", "b"])(["b", "z"]).numpy().tolist()
    [2, 0]
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str = "[UNK]",
        vocabulary: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, **kwargs)

    def _word(self, value: Any) -> str:
        return value.decode("utf-8") if isinstance(value, bytes) else str(value)


class IntegerLookup(Lookup):
    """Converts integers to numbers by a vocabulary.

    Args:
      max_tokens: size limit of the vocabulary, including reserved numbers; None for no limit.
      num_oov_indices: number of reserved numbers for values that are not in the vocabulary; 1 by default.
      mask_token: value that stands for padding and gets the number 0.
      oov_token: value that is returned for unknown numbers if `invert` is true.
      vocabulary: the values in order, or the path of a file with one value per line.
      **kwargs: `invert`, `output_mode` and the arguments of every layer.

    >>> tf.keras.layers.IntegerLookup(vocabulary=[10, 20])([20, 5]).numpy().tolist()
    [2, 0]
    """

    _takes = "int64"

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: int | None = None,
        oov_token: int = -1,
        vocabulary: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, **kwargs)

    def _word(self, value: Any) -> int:
        return int(value)

    def _spread(self, word: Any) -> int:
        return int(word)
