"""Which saved data would a power failure lose? Finds contents and names that were not flushed to the disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator
from typing import Any
from unittest.mock import patch


class Disk:
    """The data that a power failure would lose: contents and names that were not flushed to the disk."""

    def __init__(self) -> None:
        self.files: dict[int, str] = {}
        self.contents: set[str] = set()
        self.names: set[str] = set()
        self.new: set[str] = set()

    def open(self, call: Callable[..., int], path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        descriptor = call(path, flags, *args, **kwargs)
        if flags & os.O_CREAT:
            self.new.add(os.path.dirname(path))
        self.files[descriptor] = os.fspath(path)
        return descriptor

    def write(self, call: Callable[..., int], descriptor: int, content: Any) -> int:
        self.contents.add(self.files[descriptor])
        return call(descriptor, content)

    def fsync(self, call: Callable[..., None], descriptor: int) -> None:
        self.contents.discard(self.files[descriptor])
        self.names.discard(self.files[descriptor])
        self.new.discard(self.files[descriptor])
        call(descriptor)

    def mkdir(self, call: Callable[..., None], path: Any, *args: Any) -> None:
        self.names.add(os.path.dirname(path))
        call(path, *args)

    def replace(self, call: Callable[..., None], source: Any, target: Any) -> None:
        assert not self.contents, "a draft takes its name before all contents are on the disk"
        assert not self.names, "a file takes its name before the folders beside it are on the disk"
        assert self.new <= {os.path.dirname(target)}, (
            "a file takes its name before those of other files are on the disk"
        )
        self.names.add(os.path.dirname(target))
        call(source, target)

    link = replace

    @contextlib.contextmanager
    def installed(self) -> Generator[None]:
        with contextlib.ExitStack() as stack:
            for name in ("open", "write", "fsync", "mkdir", "replace", "link"):
                call, instead = getattr(os, name), getattr(self, name)
                stack.enter_context(patch.object(os, name, lambda *a, _c=call, _i=instead, **k: _i(_c, *a, **k)))
            yield
