"""Writes the lessons' drawings, and adds missing texts to their catalogues."""

from tests.course.drawings.files import write

if __name__ == "__main__":
    write()
