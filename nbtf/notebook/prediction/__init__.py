"""Predicts the memory of a cell or a notebook on a card that is not available, by rerunning it in another process."""
