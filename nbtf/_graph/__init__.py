"""Determines the results of ops without running them: symbolic tensors, their graphs, and their shapes."""
