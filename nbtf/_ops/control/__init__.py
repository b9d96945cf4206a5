"""Control flow: conditions, loops, maps and printing."""
