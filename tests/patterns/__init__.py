"""Is the number of steps of every regular expression in the package proportional to the length of the text?

`python -m tests.patterns` finds the patterns, builds texts that force each of them to backtrack, doubles these texts,
and counts the steps of a matcher that backtracks as Python's does. `test_patterns.py` runs a part of this. No times
are measured.
"""
