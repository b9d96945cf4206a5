"""Stands for the package by which programs notice that they run in Colab."""
