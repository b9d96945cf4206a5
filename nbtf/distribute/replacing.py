"""How does a strategy continue after losing a device? With the remaining devices, or with a replacement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nbtf._counts import counted
from nbtf._devices.names import Fields, parse
from nbtf._ops.variables.creation import VariableAggregation
from nbtf._runtime.cluster import forget_losses, renew
from nbtf._runtime.context import CURRENT
from nbtf._runtime.device import placed
from nbtf._runtime.placement import STRATEGY_VARIABLE
from nbtf._runtime.scopes import merged
from nbtf.distribute.variables import SyncOnReadVariable
from nbtf.errors import NotFoundError, UnavailableError

if TYPE_CHECKING:
    from nbtf.distribute.mirrored import MirroredStrategy


def replace_devices(strategy: MirroredStrategy, lost: str, target: str | None) -> None:
    """Implements `MirroredStrategy.replace`."""
    names = strategy.extended.worker_devices
    gone = [name for name in names if _is_part_of(name, lost)]
    if not gone:
        raise ValueError(f"No device of the strategy belongs to {lost!r}. Its devices are {', '.join(names)}.")
    forget_losses(CURRENT.context)
    substitutes = dict.fromkeys(gone) if target is None else dict(zip(gone, _targets(gone, target), strict=True))
    survivors = [number for number, name in enumerate(names) if name not in substitutes]
    if not survivors:
        raise UnavailableError(
            f"The strategy has lost all its devices ({', '.join(gone)}), and with them the values of its variables. "
            "Create the model again, and restore a checkpoint."
        )
    variables = strategy.variables()
    copies = [_copies_of(variable, substitutes, survivors[0], names) for variable in variables]
    for variable, values in zip(variables, copies, strict=True):  # all copies exist: from here on nothing can fail
        variable.use(values)
    strategy.extended.use(tuple([each for name in names if (each := substitutes.get(name, name)) is not None]))


def _copies_of(variable: Any, substitutes: dict[str, Any], survivor: int, names: Sequence[str]) -> list[Any]:
    """Returns a variable's copies on the current devices; a new device gets the value of a remaining one."""
    values: list[Any] = []
    for copy, name in zip(variable.values, names, strict=True):
        substitute = substitutes.get(name, name)
        if substitute == name and name not in substitutes:
            values.append(copy)
        elif substitute is not None:
            with placed(substitute, STRATEGY_VARIABLE):
                fresh = variable.values[survivor].__deepcopy__({})
                if isinstance(variable, SyncOnReadVariable) and variable.aggregation is VariableAggregation.SUM:
                    fresh.assign(fresh * 0)  # the lost copy's contribution to the sum is lost
            fresh._name = copy._name
            values.append(fresh)
    return values


def _targets(gone: Sequence[str], target: str) -> list[str]:
    """Returns the devices that replace the lost ones: one device, or those of a task in their order."""
    renew(CURRENT.context)
    by_name = CURRENT.context.devices.by_name
    fields = parse(target)
    candidates = [
        name for name in by_name if _is_part_of(name, target) and parse(name).device_type == parse(gone[0]).device_type
    ]
    full = merged(target, None).name
    if fields.device_type is not None and full in by_name:
        candidates = [full]
    if len(candidates) < len(gone):
        raise NotFoundError(
            f"{target} has {counted(len(candidates), 'device')} to replace {len(gone)}. "
            f"Available devices: {', '.join(by_name)}."
        )
    return candidates[: len(gone)]


def _is_part_of(name: str, text: str) -> bool:
    """Returns whether a string names a device or its task."""
    device_fields, requested = parse(name), parse(text)
    return requested != Fields() and all(
        field is None or field == device_field for field, device_field in zip(requested, device_fields, strict=True)
    )
