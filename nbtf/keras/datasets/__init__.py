"""`tf.keras.datasets`: well-known data sets, loaded from files on this computer.

Nothing is downloaded. If a file is missing, the error names its expected location and an alternative.
"""

from __future__ import annotations

from nbtf.keras import border as _border
from nbtf.keras.datasets import cifar10 as cifar10
from nbtf.keras.datasets import digits as digits
from nbtf.keras.datasets import fashion_mnist as fashion_mnist
from nbtf.keras.datasets import mnist as mnist

_border.guard(__name__)
