"""Error texts of GPU programs: what happened, which figures show it, and what to type. No words of the interface."""
