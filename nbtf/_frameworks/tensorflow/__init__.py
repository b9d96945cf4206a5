"""TensorFlow itself beside nbtf. No module here imports TensorFlow; those that need it load after the user's."""

from __future__ import annotations

from nbtf._frameworks.tensorflow.library import TensorFlow as TensorFlow
