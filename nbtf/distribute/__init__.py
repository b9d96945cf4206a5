"""`tf.distribute`: one program on several devices."""

from nbtf._public import public_names as _public_names
from nbtf.distribute import cluster_resolver as cluster_resolver
from nbtf.distribute import experimental as experimental
from nbtf.distribute.contexts import ReplicaContext as ReplicaContext
from nbtf.distribute.contexts import get_replica_context as get_replica_context
from nbtf.distribute.contexts import get_strategy as get_strategy
from nbtf.distribute.contexts import has_strategy as has_strategy
from nbtf.distribute.contexts import in_cross_replica_context as in_cross_replica_context
from nbtf.distribute.datasets import DistributedDataset as DistributedDataset
from nbtf.distribute.datasets import DistributedIterator as DistributedIterator
from nbtf.distribute.datasets import InputContext as InputContext
from nbtf.distribute.local_cluster import LocalCluster as LocalCluster
from nbtf.distribute.mirrored import MirroredStrategy as MirroredStrategy
from nbtf.distribute.mirrored import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from nbtf.distribute.one_device import OneDeviceStrategy as OneDeviceStrategy
from nbtf.distribute.options import InputOptions as InputOptions
from nbtf.distribute.options import InputReplicationMode as InputReplicationMode
from nbtf.distribute.options import RunOptions as RunOptions
from nbtf.distribute.reduction import CrossDeviceOps as CrossDeviceOps
from nbtf.distribute.reduction import HierarchicalCopyAllReduce as HierarchicalCopyAllReduce
from nbtf.distribute.reduction import NcclAllReduce as NcclAllReduce
from nbtf.distribute.reduction import ReduceOp as ReduceOp
from nbtf.distribute.reduction import ReductionToOneDevice as ReductionToOneDevice
from nbtf.distribute.strategy import Strategy as Strategy
from nbtf.distribute.strategy import StrategyExtended as StrategyExtended
from nbtf.distribute.tpu import TPUStrategy as TPUStrategy
from nbtf.distribute.values import DistributedValues as DistributedValues
from nbtf.distribute.workers import ParameterServerStrategy as ParameterServerStrategy
from nbtf.distribute.workers import Server as Server


def __dir__() -> list[str]:
    return _public_names(__name__)
