"""What a person watches: the live views, what they are told, and how often."""
