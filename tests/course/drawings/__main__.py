"""Writes the lessons' drawings again, and adds the texts that their catalogues lack."""

from tests.course.drawings.files import write

if __name__ == "__main__":
    write()
