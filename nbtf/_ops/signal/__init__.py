"""Ops of signals: Fourier transforms, windows, frames."""
