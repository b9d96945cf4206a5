"""Does every text pattern of the package take steps in proportion to the text?

`python -m tests.patterns` finds the patterns, makes texts that lead each of them astray, doubles these, and counts the
steps of a matcher that backtracks as Python's does. `test_patterns.py` is a share. No clock is read.
"""
