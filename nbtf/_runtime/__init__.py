"""How an op runs: the road, its placement, and the listeners that are notified of it."""
