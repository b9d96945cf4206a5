"""Explores every order in which the lines of two or three threads can run, one by one and reproducibly."""
