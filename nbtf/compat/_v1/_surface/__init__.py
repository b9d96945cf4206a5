"""The public names of `import nbtf.compat.v1 as tf`, and TensorFlow 1's versions of functions.

`names.py` lists where each name comes from. A function that differs from `nbtf`'s only in its arguments is a row of
`table.py`, which `wrapping.py` makes into a function. The other modules have the functions with rules of their own. All
other names are those of `nbtf`, whose functions `wrapping.py` runs inside the default graph. `lookup.py` finds the
object behind a name.
"""
