"""Every way to ask for a gradient, in every way to run a program, beside what TensorFlow answers."""
