"""The ops. Each is one block: public function, kernel, dtype rule and gradient.

Every op takes `name`, as in TensorFlow. It names the node in a graph; ops that run at once have no names. An op raises
`InvalidArgumentError` or `TypeError` with TensorFlow's text if dtypes differ or are not supported, if shapes do not
fit, or if an axis does not exist. Docstrings list only the other errors.
"""
