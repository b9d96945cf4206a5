"""What becomes of many elements along an axis: sums, means, extremes, truth, statistics."""
