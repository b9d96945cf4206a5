"""Interrupts at every instruction: what does the runtime look like afterwards, once the cell has ended?

`python -m tests.interrupts` raises KeyboardInterrupt, then MemoryError, before each instruction of what `scenarios.py`
lists, or before each line where there are many, and `python -m tests.interrupts --presses 200` sends real SIGINTs to a
real kernel. The suite runs an evenly spread part of the points; see `tests/runtime/test_interrupts.py`.
"""
