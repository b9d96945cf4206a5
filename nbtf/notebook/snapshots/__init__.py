"""How are memory snapshots shown that were read from files? As data of the same views that show recordings."""
