"""Other machines: how a program uses the devices of tasks that are other processes."""
