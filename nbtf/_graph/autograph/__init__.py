"""Converts Python control flow over symbolic tensors into that of a graph, by rewriting functions before they run."""
