"""Which files are searched, which tests shall notice, and which mistakes make no difference?"""

from __future__ import annotations

TARGETS: dict[str, tuple[str, ...]] = {
    "nbtf/_runtime/placement.py": ("tests/runtime/test_placement.py",),
    "nbtf/_devices/bfc.py": ("tests/devices/test_bfc.py", "tests/devices/test_bfc_properties.py"),
    "nbtf/_runtime/expectations.py": ("tests/runtime/test_expectations.py", "tests/runtime/test_recorder.py"),
    "nbtf/_storage/drafts.py": ("tests/storage/test_files.py", "tests/storage/test_folders.py"),
    "nbtf/_storage/folders.py": ("tests/storage/test_folders.py",),
    "nbtf/keras/optimizers/formulas.py": ("tests/keras/test_optimizers.py",),
    "nbtf/notebook/tables.py": ("tests/notebook/test_tables.py",),
}
"""Files, and the tests that shall fail for each mistake in them."""

EQUIVALENT: dict[tuple[str, str, str], str] = {}
"""Mistakes that make no difference, by file and by what stands before and after; and why."""
