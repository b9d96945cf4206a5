"""What `import nbtf.compat.v1 as tf` offers: where names come from, and the spellings of TensorFlow 1."""
