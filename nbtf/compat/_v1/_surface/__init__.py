"""The public names of `import nbtf.compat.v1 as tf`: where they come from, and TensorFlow 1's versions of functions."""
