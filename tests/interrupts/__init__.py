"""Interrupts at every instruction: what does the runtime look like afterwards, once the cell has ended?

`python -m tests.interrupts` raises KeyboardInterrupt, then MemoryError, before each instruction of what `scenarios.py`
lists, or before each line where there are many, and `python -m tests.interrupts --presses 200` sends real SIGINTs to a
real kernel. The suite runs an evenly spread part of the points; see `tests/runtime/test_interrupts.py`.

Every point of ops (18,350), copies (2,898), device scopes (8,978) and session runs (1,358): 0 failures. With `--share`:
2,596 points of a tape step and 2,736 of updates of variables (2500 each), 1,548 of view updates (1500), 416 of `save`
(400), 1,012 of `fit` on one GPU (1000), 604 on two (600), 68 of first uses (10 each): 0 failures.
200 presses, 40 in each of 5 kernels: 0 failures.
"""
