"""The execution of an op: the road, its placement, and the listeners that are notified."""
