"""`tf.distribute.experimental`: strategies and options under the names that older programs use."""

from __future__ import annotations

from nbtf._public import public_names as _public_names
from nbtf.distribute.communication import CollectiveCommunication as CollectiveCommunication
from nbtf.distribute.communication import CommunicationImplementation as CommunicationImplementation
from nbtf.distribute.communication import CommunicationOptions as CommunicationOptions
from nbtf.distribute.mirrored import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from nbtf.distribute.one_device import CentralStorageStrategy as CentralStorageStrategy
from nbtf.distribute.strategy import ValueContext as ValueContext
from nbtf.distribute.workers import ParameterServerStrategy as ParameterServerStrategy


def __dir__() -> list[str]:
    return _public_names(__name__)
