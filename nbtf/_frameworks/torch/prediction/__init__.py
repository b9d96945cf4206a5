"""Predicts the GPU memory of a PyTorch program without the card: it runs on simulated GPUs, without values."""
