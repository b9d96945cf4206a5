"""TensorFlow's cards, memory, tensors and work."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, Self

from nbtf._frameworks.base import Activity, Arrays, Card, Framework, Listening, Pool, cautious
from nbtf._frameworks.tensorflow import memory


class TensorFlow(Framework):
    """TensorFlow, to the extent that this process has imported it."""

    name: ClassVar[str] = "TensorFlow"
    module_name: ClassVar[str] = "tensorflow"
    recorded: ClassVar[str] = "ops"
    tells_ops: ClassVar[bool] = True

    @classmethod
    def imported(cls) -> Self | None:
        """Returns TensorFlow if it has been imported; a program may import nbtf under that name."""
        module: Any = sys.modules.get(cls.module_name)
        return None if module is None or module.__name__ != cls.module_name else cls(module)

    @cautious(list[Card])
    def cards(self) -> list[Card]:
        """Returns the cards that TensorFlow has started to use."""
        return memory.cards(self._module)

    @cautious(list[Pool])
    def pools(self) -> list[Pool]:
        """Returns the memory of each card, as TensorFlow's allocators report it."""
        return memory.pools(self._module)

    @cautious(lambda: None)
    def arrays(self) -> Arrays | None:
        """Returns the description of its tensors."""
        from nbtf._frameworks.tensorflow.tensors import tensors_of  # imported late, like those below: few need it

        return tensors_of(self.name, self._module, memory.card_finder(self._module))

    def activity(self) -> Activity:
        """Returns an observer that counts its ops."""
        from nbtf._frameworks.tensorflow.activity import TensorFlowActivity

        return TensorFlowActivity(self._module)

    def listening(self) -> Listening:
        """Returns the object that records its ops."""
        from nbtf._frameworks.tensorflow.watching import TensorFlowListening

        return TensorFlowListening()

    @cautious(lambda: None)
    def full_card(self, error: BaseException) -> str | None:
        """Returns the card that a `tf.errors.ResourceExhaustedError` names."""
        return memory.full_card(self._module, error)
