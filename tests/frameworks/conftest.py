"""What is collected where PyTorch is not installed? Tests skip by themselves; the programs that they share cannot."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["torch_programs.py"]
