"""Simulated GPUs for PyTorch: an unchanged program runs on `cuda:k`, with values of this computer's CPU.

Its tensors are PyTorch's own, on devices of type `cuda`. `guard` tells PyTorch's core that such devices are there,
`tensors` lays them over tensors of the CPU, `kernels` runs their ops there, and `driver` answers what `torch.cuda`
asks. Nothing is imported here before somebody asks for it.
"""
