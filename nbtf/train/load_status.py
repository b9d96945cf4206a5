"""The status of a restored checkpoint: which values were matched, and which objects got none."""

from __future__ import annotations

from typing import Any, NoReturn

from nbtf.train.object_graph import Node, graph_of
from nbtf.train.restoration import Restoration

_SHOWN = 10
"""Maximum number of unmatched objects in a message, as in TensorFlow."""


class CheckpointLoadStatus:
    """The status of a restored checkpoint; it can be queried again after more variables are created."""

    def __init__(self, root: Any, restoration: Restoration) -> None:
        """Stores the restored object and the restoration."""
        self._root, self._restoration = root, restoration

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Returns the status if every value was used and every object got its value.

        Raises:
          AssertionError: if values or objects were not matched.
        """
        self.assert_existing_objects_matched()
        unrestored = self._restoration.unrestored
        for number in unrestored.numbers:
            node = self._restoration.nodes[number]
            raise AssertionError(f"Unresolved object in checkpoint {unrestored.name_of(number)}: {_description(node)}")
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Returns the status if every existing object was in the checkpoint; values may remain unused.

        Raises:
          AssertionError: if objects were not matched.
        """
        unmatched = self._unmatched()
        if unmatched:
            examples = unmatched[:_SHOWN]
            raise AssertionError(
                f"Found {len(unmatched)} Python objects that were not bound to checkpointed values, likely due to "
                f"changes in the Python program. Showing {len(examples)} of {len(unmatched)} unmatched objects: "
                f"{examples}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Returns the status if any object besides the root was in the checkpoint.

        Raises:
          AssertionError: if none was.
        """
        if len(self._matched()) > 1:
            return self
        unmatched = self._unmatched()
        if unmatched:
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this means that the checkpoint "
                "does not match the Python program. The following objects have no matching checkpointed value: "
                f"{unmatched}"
            )
        raise AssertionError(f"Nothing to load. No dependencies have been added to {self._root} yet.")

    def expect_partial(self) -> CheckpointLoadStatus:
        """Returns the status; values that remain unused no longer cause a warning."""
        self._restoration.unrestored.expected = True
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Does nothing, because values are assigned already."""

    def run_restore_ops(self, session: Any = None) -> None:
        """Does nothing, because values are assigned already."""

    def _matched(self) -> list[Any]:
        return [value for value in (find() for find in self._restoration.objects.values()) if value is not None]

    def _unmatched(self) -> list[Any]:
        """Returns the existing objects that were not in the checkpoint, without empty lists."""
        matched = {id(value) for value in self._matched()}
        plain = (list, tuple, dict)
        return [value for value in graph_of(self._root)[1] if id(value) not in matched and not isinstance(value, plain)]


def _description(node: Node) -> str:
    """Returns a graph node as TensorFlow prints it."""
    return (
        f'attributes {{\n  name: "VARIABLE_VALUE"\n  full_name: "{node.name}"\n  checkpoint_key: "{node.key}"\n}}\n'
        "has_checkpoint_values {\n  value: true\n}\n"
    )


class InitializationOnlyStatus:
    """The status of `restore(None)`: nothing was restored, and variables keep their initial values."""

    def _refuse(self) -> NoReturn:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    def assert_consumed(self) -> NoReturn:
        """Raises an error, because no checkpoint was specified.

        Raises:
          AssertionError: always.
        """
        self._refuse()

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> InitializationOnlyStatus:
        """Returns itself."""
        return self

    def run_restore_ops(self, session: Any = None) -> NoReturn:
        """Raises an error, because no checkpoint was specified.

        Raises:
          AssertionError: always.
        """
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore)."
        )

    def initialize_or_restore(self, session: Any = None) -> None:
        """Does nothing, because variables have their initial values already."""
