"""Tensors that are not full blocks: ragged, sparse, some rows of one."""
