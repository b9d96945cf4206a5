"""Simulated GPUs for programs: `python -m nbtf.simulate train.py`, and the start hook.

The start hook is two files beside the installed packages. Python reads `nbtf_start.pth` at each start; if NBTF_SIMULATE
is set, it imports `_nbtf_start`, which waits for `import torch`. Child processes inherit the variable, and so the GPUs.
"""
