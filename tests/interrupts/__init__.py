"""Interrupts at every instruction: is the runtime consistent once the cell has ended?

`python -m tests.interrupts` raises KeyboardInterrupt, then MemoryError, before each instruction of the scenarios in
`scenarios.py`, or before each line if there are many. `python -m tests.interrupts --presses 200` sends real SIGINTs to
a real kernel. The suite runs an evenly spread part of the points; see `tests/runtime/test_interrupts.py`.

Every point of ops (18,350), copies (2,898), device scopes (8,978), session runs (1,358), a tape step (41,516), updates
of variables (16,408), view updates (6,188) and `save` (10,770): 0 failures. With `--share`: 1,012 of 62,764 points of
`fit` on one GPU (1000), 604 of 135,258 on two (600), 68 of first uses (10 each): 0 failures. Since Python 3.12,
`sys.monitoring` provides the points; on 3.13 every point of ops, copies, device scopes and session runs (28,650): 0
failures. 200 presses in one kernel: 0 failures.
"""
