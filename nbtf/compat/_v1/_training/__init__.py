"""Training in graphs: the ops that update variables."""
