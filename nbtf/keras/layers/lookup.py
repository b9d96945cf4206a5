"""The layer that converts words to numbers by a vocabulary."""

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


class StringLookup(Layer):
    """Converts words to numbers by a vocabulary.

    Args:
      max_tokens: size limit of the vocabulary, including reserved numbers; None for no limit.
      num_oov_indices: number of reserved numbers for words that are not in the vocabulary; 1 by default.
      mask_token: word that stands for padding and gets the number 0.
      oov_token: word that is returned for unknown numbers if `invert` is true.
      vocabulary: the words in order, or the path of a file with one word per line.
      invert: whether to convert numbers back to words; false by default.
      output_mode: `"int"`, or an encoding of `CategoryEncoding`.

    Raises:
      ValueError: if the mode is unknown, or if the vocabulary contains a word twice.

    >>> tf.keras.layers.StringLookup(vocabulary=["a", "b"])(["b", "z"]).numpy().tolist()
    [2, 0]
    """

    _config = ("max_tokens", "num_oov_indices", "mask_token", "oov_token", "invert", "output_mode")
    _takes = "string"
    built = True

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str = "[UNK]",
        vocabulary: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if output_mode not in _MODES:
            raise ValueError(f"Unknown arg for `output_mode`: `{output_mode}`. Known: {', '.join(_MODES)}.")
        self.max_tokens: int | None = max_tokens
        self.num_oov_indices: int = num_oov_indices
        self.mask_token: str | None = mask_token
        self.oov_token: str = oov_token
        self.invert: bool = invert
        self.output_mode = output_mode
        self.autocast = False
        self.__dict__["_words"] = None
        self.__dict__["_numbers"] = {}
        if vocabulary is not None:
            self.set_vocabulary(vocabulary)

    _internal = Layer._internal | {"_words", "_numbers"}
    _words: list[str] | None
    _numbers: dict[str, int]

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

    @property
    def _kept_free(self) -> list[str]:
        masks = [] if self.mask_token is None else [self.mask_token]
        if self.num_oov_indices > MOST_FREE_NUMBERS:
            raise ValueError(f"`num_oov_indices` must be at most {MOST_FREE_NUMBERS}. Got {self.num_oov_indices}")
        return [*masks, *([self.oov_token] * self.num_oov_indices)]

    def set_vocabulary(self, vocabulary: Any) -> None:
        """Sets the vocabulary.

        Args:
          vocabulary: the words in order, or the path of a file with one word per line.

        Raises:
          ValueError: if the file cannot be read, or if a word occurs twice.
        """
        if isinstance(vocabulary, str):
            try:
                vocabulary = read_text(vocabulary).splitlines()
            except OSError as error:
                raise ValueError(f"Vocabulary file {vocabulary} cannot be read: {error}") from error
        words = [_word(value) for value in np.asarray(vocabulary).tolist()]
        free = self._kept_free
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
        """Builds the vocabulary from data: the most frequent words first, equally frequent ones in descending order.

        Args:
          data: an array, a tensor, or a dataset of batches.
          batch_size: ignored.
          steps: number of batches of a dataset to use; all by default.
        """
        counts = Counter(_word(value) for value in batches_of(data, steps).ravel().tolist())
        for free in self._kept_free:
            counts.pop(free, None)
        words = sorted(counts, key=lambda word: (counts[word], word), reverse=True)
        self.set_vocabulary(words[: None if self.max_tokens is None else self.max_tokens - len(self._kept_free)])

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        """Returns the words in order, by default including the mask token and the tokens for unknown words."""
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
            vocabulary = dict(enumerate(self.get_vocabulary()))
            words = [vocabulary.get(number, self.oov_token) for number in values.ravel().tolist()]
            return convert_to_tensor(np.array(words, object).reshape(values.shape))
        numbers = np.array([self._number(_word(value)) for value in values.ravel().tolist()], "int64")
        indices = convert_to_tensor(numbers.reshape(values.shape))
        if self.output_mode == "int":
            return indices
        return encoded(indices, self.vocabulary_size(), self.output_mode, "int64")

    def _number(self, word: str) -> int:
        number = self._numbers.get(word)
        if number is not None:
            return number
        first = 0 if self.mask_token is None else 1
        if self.num_oov_indices == 0:
            raise InvalidArgumentError(
                "When `num_oov_indices=0` all inputs should be in vocabulary, found OOV values "
                f"{[word]}, consider setting `num_oov_indices=1`."
            )
        spread = int(hashlib.blake2b(word.encode(), digest_size=8).hexdigest(), 16)
        return first if self.num_oov_indices == 1 else first + spread % self.num_oov_indices

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns symbolic results for symbolic inputs."""
        shape = args[0].shape
        if self.invert:
            return KerasTensor(shape, self._takes)
        shape = shape if self.output_mode == "int" else encoded_shape(shape, self.vocabulary_size(), self.output_mode)
        return KerasTensor(shape, "int64")

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "vocabulary": None if self._words is None else list(self._words)}


def _word(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
