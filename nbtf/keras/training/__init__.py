"""How models are compiled, fitted, evaluated and used: what `Model` inherits of training."""

from nbtf.keras.training.progress import Progbar as Progbar
from nbtf.keras.training.py_dataset import PyDataset as PyDataset
from nbtf.keras.training.trainer import Trainer as Trainer
