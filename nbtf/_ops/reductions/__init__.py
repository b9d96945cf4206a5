"""Reductions along axes: sums, means, extremes, logical reductions and statistics."""
