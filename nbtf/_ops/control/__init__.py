"""What runs, how often, and in which order: conditions, loops, maps, prints."""
