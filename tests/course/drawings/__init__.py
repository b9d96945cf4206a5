"""What idea does a lesson have, at a glance? A drawing above each, made by `python -m tests.course.drawings`."""
