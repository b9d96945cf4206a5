"""Devices: where arrays are stored and kernels run."""
