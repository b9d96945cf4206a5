"""What do the exercises of the tutorials check? One function for each exercise, by its name."""
