"""Every order in which the lines of two or three threads can come: explored one by one, the same each time."""
