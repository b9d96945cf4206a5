"""The files to search, the tests that must notice their mutants, and mistakes that change no behaviour."""

from __future__ import annotations

_BFC = (
    "tests/devices/test_bfc.py",
    "tests/devices/test_bfc_properties.py",
    "tests/devices/test_simulated.py",
    "tests/recorded/test_bfc_traces.py",
)
_STORAGE = tuple(
    f"tests/storage/test_{name}.py" for name in ("files", "folders", "drafts", "packing", "archives", "documents")
)
_OPTIMIZERS = ("tests/keras/test_optimizers.py", "tests/recorded/test_optimizers.py")

TARGETS: dict[str, tuple[str, ...]] = {
    "nbtf/_runtime/placement.py": ("tests/runtime/test_placement.py",),
    "nbtf/_devices/bfc/allocator.py": _BFC,
    "nbtf/_devices/bfc/chunks.py": _BFC,
    "nbtf/_devices/bfc/pool.py": _BFC,
    "nbtf/_devices/bfc/report.py": _BFC,
    "nbtf/_runtime/expectations.py": (
        "tests/runtime/test_expectations.py",
        "tests/runtime/test_recorder.py",
        "tests/frameworks/test_honest_checks.py",
    ),
    "nbtf/_storage/archives.py": _STORAGE,
    "nbtf/_storage/documents.py": _STORAGE,
    "nbtf/_storage/drafts.py": _STORAGE,
    "nbtf/_storage/files.py": _STORAGE,
    "nbtf/_storage/folders.py": _STORAGE,
    "nbtf/_storage/manifest.py": _STORAGE,
    "nbtf/_storage/packing.py": _STORAGE,
    "nbtf/keras/optimizers/formulas.py": _OPTIMIZERS,
    "nbtf/keras/optimizers/loss_scale.py": _OPTIMIZERS,
    "nbtf/keras/optimizers/optimizer.py": (*_OPTIMIZERS, "tests/compat/train/test_optimizers.py"),
    "nbtf/keras/optimizers/slots.py": (*_OPTIMIZERS, "tests/compat/train/test_optimizers.py"),
    "nbtf/keras/optimizers/schedules.py": (*_OPTIMIZERS, "tests/recorded/test_schedules.py"),
    "nbtf/notebook/tables.py": ("tests/notebook/test_tables.py",),
    "nbtf/cli/printable.py": ("tests/cli/test_printable.py",),
}
"""Files, and the tests of which one must fail for each mistake."""

EQUIVALENT: dict[tuple[str, str, str, str], str] = {
    ("nbtf/_runtime/placement.py", "index = requested.device_index or 0", "0", "1"): "both are indices that can be",
    (
        "nbtf/_runtime/expectations.py",
        "start, old_peak = accounts_before.get(name) or (_scratch(name), 0)",
        "0",
        "1",
    ): "no peak is 1 byte: what is in use is a multiple of 256",
    (
        "nbtf/_storage/folders.py",
        "if manifest.GENERATION.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):",
        "False",
        "True",
    ): "a link to a folder is not removed then either: shutil.rmtree refuses links",
    (
        "nbtf/_runtime/expectations.py",
        "result.append(MemoryUse(card, False, total_before, peak, total_after, libraries, notes))",
        "False",
        "True",
    ): "what has libraries is labelled with them",
    (
        "nbtf/_storage/manifest.py",
        'return json.dumps({"schema": SCHEMA, **of_folder, "files": files}, indent=1).encode()',
        "1",
        "2",
    ): "a document that says the same",
    (
        "nbtf/keras/optimizers/loss_scale.py",
        "super().__init__(0.0, **kwargs)",
        "0.0",
        "1.0",
    ): "the rate is that of the inner optimizer",
    (
        "nbtf/_devices/bfc/allocator.py",
        "return True  # it is freed",
        "return True",
        "return None",
    ): "a block that is freed is passed over then",
    (
        "nbtf/_devices/bfc/allocator.py",
        "return True  # it is freed",
        "True",
        "False",
    ): "a block that is freed is passed over then",
    (
        "nbtf/_devices/bfc/allocator.py",
        "self._changes = changes + 1",
        "changes + 1",
        "changes - 1",
    ): "it only has to be another number",
    ("nbtf/_devices/bfc/allocator.py", "self._changes = changes + 1", "1", "2"): "it only has to be another number",
    (
        "nbtf/_devices/bfc/allocator.py",
        "handle, written, entry, entries = 0, 0, None, None",
        "0",
        "1",
    ): "without an entry nobody reads them",
    (
        "nbtf/_devices/bfc/allocator.py",
        "if at and free[at - 1] > entry:",
        "at and free[at - 1] > entry",
        "at or free[at - 1] > entry",
    ): "with no neighbour the search ends where it is, too",
    (
        "nbtf/_devices/bfc/allocator.py",
        "if at and free[at - 1] > entry:",
        "free[at - 1] > entry",
        "free[at - 1] >= entry",
    ): "no two entries have one address",
    (
        "nbtf/_devices/bfc/allocator.py",
        "if in_use > self._peak:",
        "in_use > self._peak",
        "in_use >= self._peak",
    ): "it is set to what it is",
    (
        "nbtf/_devices/bfc/allocator.py",
        "if size > self._largest_alloc:",
        "size > self._largest_alloc",
        "size >= self._largest_alloc",
    ): "it is set to what it is",
    ("nbtf/_devices/bfc/allocator.py", "low = high = -1", "1", "2"): "any number below 0 says that there is none",
    (
        "nbtf/_devices/bfc/allocator.py",
        "elif low + 1 < at:",
        "low + 1 < at",
        "low + 1 <= at",
    ): "an entry put there as a part of the list is put there, too",
    (
        "nbtf/_devices/bfc/allocator.py",
        "elif low + 1 < at:",
        "low + 1",
        "low - 1",
    ): "an entry put there as a part of the list is put there, too",
    (
        "nbtf/_devices/bfc/pool.py",
        "hole.handle, hole.requested, handles = handles, 0, handles + 1",
        "0",
        "1",
    ): "who had the region mapped writes another there at once",
    (
        "nbtf/keras/optimizers/optimizer.py",
        "if context is not None and context.num_replicas_in_sync > 1:",
        "context.num_replicas_in_sync > 1",
        "context.num_replicas_in_sync >= 1",
    ): "a single replica waits for nobody",
    ("nbtf/_devices/bfc/pool.py", "_ADDRESS_STEP = 2 << 20", "2", "3"): "regions are apart by more, which nobody sees",
}
"""Mistakes that change no behaviour, by file, line, and code before and after; with the reason."""
