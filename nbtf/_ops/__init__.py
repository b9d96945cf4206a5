"""What each op is: public function, kernel, dtype rule, gradient, in one block.

Every op takes `name`, as in TensorFlow. It names the node in a graph; ops that run at once have no names. An op that
gets dtypes that differ or do not suit, shapes that do not fit, or an axis that is not there, raises
`InvalidArgumentError` or `TypeError` in TensorFlow's words; docstrings say what else is refused.
"""
