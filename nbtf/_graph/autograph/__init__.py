"""How Python's control flow over symbolic tensors becomes that of a graph: functions are rewritten before they run."""
