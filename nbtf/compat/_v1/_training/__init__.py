"""How graphs train: the ops that update variables."""
