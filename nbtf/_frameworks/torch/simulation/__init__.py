"""Simulated GPUs for PyTorch: an unchanged program runs on `cuda:k`, and this computer's CPU calculates the values.

The tensors are ordinary PyTorch tensors on devices of type `cuda`. `guard` reports to the PyTorch core that such
devices exist, `tensors` stores them over CPU tensors, `kernels` runs their ops there, and `driver` implements the
functions that `torch.cuda` calls. PyTorch is not imported here before it is needed.
"""
