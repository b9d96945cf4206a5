"""Does every kernel give the same results in every memory layout, and on every path that runs it?"""
