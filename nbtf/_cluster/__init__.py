"""Other machines: how does a program use devices of tasks that are other processes?"""
