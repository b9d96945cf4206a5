"""nbtf under the name `tensorflow`, for libraries that import TensorFlow, such as Keras 3.

`presentation.py` puts nbtf into `sys.modules`, `modules.py` finds the counterparts of TensorFlow modules,
`aliases.py` lists the private ones with the libraries that need them, and `internal.py` is `tf.__internal__`.
`layers.py` reports Keras' layers and phases in nbtf's events. `import nbtf` loads none of these.
"""
