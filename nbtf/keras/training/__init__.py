"""Compiling, fitting, evaluating and using models: the training methods that `Model` inherits."""

from nbtf.keras.training.progress import Progbar as Progbar
from nbtf.keras.training.py_dataset import PyDataset as PyDataset
from nbtf.keras.training.trainer import Trainer as Trainer
