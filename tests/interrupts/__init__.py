"""Interrupts at every instruction: what does the runtime look like afterwards, once the cell has ended?

`python -m tests.interrupts` raises KeyboardInterrupt, then MemoryError, before each instruction of what `scenarios.py`
lists, or before each line where there are many, and `python -m tests.interrupts --presses 200` sends real SIGINTs to a
real kernel. The suite runs an evenly spread part of the points; see `tests/runtime/test_interrupts.py`.

Every point of ops, copies, device scopes (24,040) and session runs (1,366), 2,274 of updates of variables, 1,516 of a
tape step, 2,562 lines of `fit` on one and two GPUs, and 200 presses: 0 failures.
"""
