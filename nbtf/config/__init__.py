"""`tf.config`: which devices are available, which are used, and how is their memory allocated?"""

from nbtf._public import public_names as _public_names
from nbtf._runtime.configuration import LogicalDevice as LogicalDevice
from nbtf._runtime.configuration import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from nbtf._runtime.configuration import PhysicalDevice as PhysicalDevice
from nbtf.config._cluster import experimental_connect_to_cluster as experimental_connect_to_cluster
from nbtf.config._cluster import experimental_connect_to_host as experimental_connect_to_host
from nbtf.config._devices import functions_run_eagerly as functions_run_eagerly
from nbtf.config._devices import get_logical_device_configuration as get_logical_device_configuration
from nbtf.config._devices import get_soft_device_placement as get_soft_device_placement
from nbtf.config._devices import get_visible_devices as get_visible_devices
from nbtf.config._devices import list_logical_devices as list_logical_devices
from nbtf.config._devices import list_physical_devices as list_physical_devices
from nbtf.config._devices import run_functions_eagerly as run_functions_eagerly
from nbtf.config._devices import set_logical_device_configuration as set_logical_device_configuration
from nbtf.config._devices import set_soft_device_placement as set_soft_device_placement
from nbtf.config._devices import set_visible_devices as set_visible_devices
from nbtf.config._experimental import experimental as experimental
from nbtf.config._optimizer import optimizer as optimizer
from nbtf.config._process import gpu as gpu
from nbtf.config._process import threading as threading


def __dir__() -> list[str]:
    return _public_names(__name__)
