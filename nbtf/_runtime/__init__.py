"""What happens to an op: the road it takes, where it runs and why, who hears of it."""
