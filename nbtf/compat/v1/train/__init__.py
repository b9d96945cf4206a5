"""`tf.compat.v1.train`: optimizers, learning rates, moving averages, and values of variables in files."""

from nbtf.compat.v1._variables.global_step import assert_global_step as assert_global_step
from nbtf.compat.v1._variables.global_step import create_global_step as create_global_step
from nbtf.compat.v1._variables.global_step import get_global_step as get_global_step
from nbtf.compat.v1._variables.global_step import get_or_create_global_step as get_or_create_global_step
from nbtf.compat.v1._variables.global_step import global_step as global_step
from nbtf.compat.v1.train.optimizer import Optimizer as Optimizer
from nbtf.compat.v1.train.optimizers import AdadeltaOptimizer as AdadeltaOptimizer
from nbtf.compat.v1.train.optimizers import AdagradOptimizer as AdagradOptimizer
from nbtf.compat.v1.train.optimizers import AdamOptimizer as AdamOptimizer
from nbtf.compat.v1.train.optimizers import FtrlOptimizer as FtrlOptimizer
from nbtf.compat.v1.train.optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from nbtf.compat.v1.train.optimizers import MomentumOptimizer as MomentumOptimizer
from nbtf.compat.v1.train.optimizers import RMSPropOptimizer as RMSPropOptimizer
from nbtf.train import Checkpoint as Checkpoint
from nbtf.train import CheckpointManager as CheckpointManager
from nbtf.train import CheckpointOptions as CheckpointOptions
from nbtf.train import latest_checkpoint as latest_checkpoint
from nbtf.train import list_variables as list_variables
from nbtf.train import load_checkpoint as load_checkpoint
from nbtf.train import load_variable as load_variable
