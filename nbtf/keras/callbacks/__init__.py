"""`tf.keras.callbacks`: objects that are called during training."""

from nbtf.keras import border as _border
from nbtf.keras.callbacks.callback import Callback as Callback
from nbtf.keras.callbacks.callback import LambdaCallback as LambdaCallback
from nbtf.keras.callbacks.callback import TerminateOnNaN as TerminateOnNaN
from nbtf.keras.callbacks.callback_list import CallbackList as CallbackList
from nbtf.keras.callbacks.history import CSVLogger as CSVLogger
from nbtf.keras.callbacks.history import History as History
from nbtf.keras.callbacks.history import TensorBoard as TensorBoard
from nbtf.keras.callbacks.learning_rates import LearningRateScheduler as LearningRateScheduler
from nbtf.keras.callbacks.learning_rates import ReduceLROnPlateau as ReduceLROnPlateau
from nbtf.keras.callbacks.model_checkpoint import ModelCheckpoint as ModelCheckpoint
from nbtf.keras.callbacks.monitoring import EarlyStopping as EarlyStopping
from nbtf.keras.callbacks.progbar_logger import ProgbarLogger as ProgbarLogger

_border.guard(__name__)
