"""`tf.compat.v1.train`: optimizers, learning rates, moving averages, checkpoints, and a session with hooks."""

from __future__ import annotations

from typing import NoReturn as _NoReturn

from nbtf._missing import of_tensorflow_1 as _missing
from nbtf._public import public_names as _public_names
from nbtf.compat._v1._variables.initializing import assert_global_step as assert_global_step
from nbtf.compat._v1._variables.initializing import create_global_step as create_global_step
from nbtf.compat._v1._variables.initializing import get_global_step as get_global_step
from nbtf.compat._v1._variables.initializing import get_or_create_global_step as get_or_create_global_step
from nbtf.compat._v1._variables.initializing import global_step as global_step
from nbtf.compat._v1.train.cluster import ClusterSpec as ClusterSpec
from nbtf.compat._v1.train.cluster import replica_device_setter as replica_device_setter
from nbtf.compat._v1.train.coordinator import Coordinator as Coordinator
from nbtf.compat._v1.train.coordinator import start_queue_runners as start_queue_runners
from nbtf.compat._v1.train.learning_rates import exponential_decay as exponential_decay
from nbtf.compat._v1.train.learning_rates import piecewise_constant as piecewise_constant
from nbtf.compat._v1.train.learning_rates import piecewise_constant_decay as piecewise_constant_decay
from nbtf.compat._v1.train.learning_rates import polynomial_decay as polynomial_decay
from nbtf.compat._v1.train.monitored import MonitoredTrainingSession as MonitoredTrainingSession
from nbtf.compat._v1.train.monitored import NanLossDuringTrainingError as NanLossDuringTrainingError
from nbtf.compat._v1.train.monitored import NanTensorHook as NanTensorHook
from nbtf.compat._v1.train.monitored import SessionRunArgs as SessionRunArgs
from nbtf.compat._v1.train.monitored import SessionRunContext as SessionRunContext
from nbtf.compat._v1.train.monitored import SessionRunHook as SessionRunHook
from nbtf.compat._v1.train.monitored import SessionRunValues as SessionRunValues
from nbtf.compat._v1.train.monitored import StopAtStepHook as StopAtStepHook
from nbtf.compat._v1.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from nbtf.compat._v1.train.optimizer import Optimizer as Optimizer
from nbtf.compat._v1.train.optimizers import AdagradOptimizer as AdagradOptimizer
from nbtf.compat._v1.train.optimizers import AdamOptimizer as AdamOptimizer
from nbtf.compat._v1.train.optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from nbtf.compat._v1.train.optimizers import MomentumOptimizer as MomentumOptimizer
from nbtf.compat._v1.train.optimizers import RMSPropOptimizer as RMSPropOptimizer
from nbtf.compat._v1.train.saver import CheckpointState as CheckpointState
from nbtf.compat._v1.train.saver import Saver as Saver
from nbtf.compat._v1.train.saver import get_checkpoint_state as get_checkpoint_state
from nbtf.distribute.workers import Server as Server
from nbtf.train import Checkpoint as Checkpoint
from nbtf.train import CheckpointManager as CheckpointManager
from nbtf.train import CheckpointOptions as CheckpointOptions
from nbtf.train import latest_checkpoint as latest_checkpoint
from nbtf.train import list_variables as list_variables
from nbtf.train import load_checkpoint as load_checkpoint
from nbtf.train import load_variable as load_variable
from nbtf.train.files import checkpoint_exists as checkpoint_exists


def __dir__() -> list[str]:
    return _public_names(__name__)


NewCheckpointReader = load_checkpoint


def __getattr__(name: str) -> _NoReturn:
    raise _missing(f"train.{name}")
