"""Does every kernel return the same results for every memory layout, and on every path that runs it?"""
