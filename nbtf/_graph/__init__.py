"""What would come out of ops, without running them: symbolic tensors, the graphs that they belong to, shapes."""
