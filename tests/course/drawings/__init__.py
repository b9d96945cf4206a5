"""The drawing above each lesson, which shows its idea at a glance; made by `python -m tests.course.drawings`."""
