"""`tf.train`: checkpoints of variables, and training progress."""

from nbtf._public import public_names as _public_names
from nbtf._runtime.cluster_spec import ClusterSpec as ClusterSpec
from nbtf._storage.example_messages import BytesList as BytesList
from nbtf._storage.example_messages import Example as Example
from nbtf._storage.example_messages import Feature as Feature
from nbtf._storage.example_messages import FeatureList as FeatureList
from nbtf._storage.example_messages import FeatureLists as FeatureLists
from nbtf._storage.example_messages import Features as Features
from nbtf._storage.example_messages import FloatList as FloatList
from nbtf._storage.example_messages import Int64List as Int64List
from nbtf._storage.example_messages import SequenceExample as SequenceExample
from nbtf.train.checkpoint import Checkpoint as Checkpoint
from nbtf.train.checkpoint import CheckpointOptions as CheckpointOptions
from nbtf.train.files import latest_checkpoint as latest_checkpoint
from nbtf.train.files import list_variables as list_variables
from nbtf.train.files import load_checkpoint as load_checkpoint
from nbtf.train.files import load_variable as load_variable
from nbtf.train.historic import GradientDescentOptimizer as GradientDescentOptimizer
from nbtf.train.manager import CheckpointManager as CheckpointManager


def __dir__() -> list[str]:
    return _public_names(__name__)
