"""What a program of PyTorch's will take on a card, before there is one: it runs on simulated GPUs, without values."""
