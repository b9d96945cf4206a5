"""What each op is: public function, kernel, dtype rule, gradient, in one block.

Every op takes `name`, as in TensorFlow. It names the node in a graph; ops that run at once have no names.
"""
