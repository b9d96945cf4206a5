"""Clusters: a program uses the devices of tasks, which are other processes on this machine or on others."""
