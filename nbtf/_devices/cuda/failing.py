"""The errors of a real GPU, as nbtf raises them: they name the card and, if it is full, what holds its memory."""

from __future__ import annotations

import traceback
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from nbtf._devices import exhausted
from nbtf._devices.base import GPU, Spec
from nbtf._devices.cuda import errors as cuda_errors
from nbtf._devices.cuda.memory import CudaMemory, MemoryManager
from nbtf._devices.cuda.opened import lose_all
from nbtf._devices.exhausted import Request
from nbtf._types import as_dtype
from nbtf.errors import OpError, ResourceExhaustedError


class FailingGPU(GPU):
    """The errors of a real GPU."""

    account: CudaMemory
    _memory_manager: MemoryManager

    @abstractmethod
    def mem_info(self) -> tuple[int, int] | None:
        """Returns free and total bytes of the card as CUDA reports them; None without a context."""

    def _name_with_card(self) -> str:
        return f"{self.short_name} ({self.card.card.name})"

    def fail_without_memory(self, error: Exception) -> NoReturn:
        """Raises nbtf's error for an error that is not about memory."""
        self.fail(error, about_memory=False)

    def fail(self, error: Exception, *request: Any, about_memory: bool = True) -> NoReturn:
        """Raises nbtf's error for any error; no frame may keep it, since a reference cycle would keep memory alive."""
        explained: Exception | None = None
        try:
            explained = self.explained(error, *request) if about_memory else self._meaning(error)
            if explained is error:
                raise error
            raise explained from self._cause_of(error)
        finally:
            del explained, error

    def _meaning(self, error: Exception) -> Exception:
        meaning = cuda_errors.meaning(error, self._name_with_card())
        if meaning.lost and isinstance(meaning.error, OpError):
            lose_all(meaning.error)  # such an error affects the whole process, not one card
        return meaning.error

    def _cause_of(self, error: BaseException) -> BaseException | None:
        """Returns the error to show as the cause; None for an error that is passed on or that keeps memory alive."""
        return None if isinstance(error, OpError) or self._is_out_of_memory(error) else error

    def _is_out_of_memory(self, error: BaseException) -> bool:
        if type(error).__name__ != "CUBLASError":
            return cuda_errors.is_out_of_memory(error)
        info = self.mem_info()
        return cuda_errors.is_out_of_memory(error, None if info is None else info[0])

    def explained(
        self,
        error: Exception,
        nbytes: int = 0,
        shape: tuple[int, ...] = (),
        dtype: Any = np.float32,
        copied: bool = False,
    ) -> Exception:
        """Returns nbtf's error; for an out-of-memory error, its text has the figures and what holds the memory."""
        if not self._is_out_of_memory(error):
            return self._meaning(error)
        # A notebook keeps the last traceback, whose frames must not keep the kernel's arrays alive.
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        try:
            c_name = as_dtype(dtype).c_name
        except TypeError:
            c_name = str(dtype)
        request = Request(nbytes, tuple(shape), c_name, self.name, copied)
        info = self.mem_info()
        text = exhausted.real_card_is_full(
            request,
            self._name_with_card(),
            self._memory_manager.name,
            self.account.stats(),
            None if info is None else info[0],
            [(label, piece.nbytes) for piece, label in self.account.pieces()],
        )
        return ResourceExhaustedError(text)


def first_result(specs: Sequence[Spec] | None) -> tuple[int, tuple[int, ...], Any]:
    """Returns bytes, shape and dtype of the first result, for error messages."""
    if not specs or None in specs[0].shape:
        return 0, (), np.float32
    shape: Any = specs[0].shape
    return int(np.prod(shape, dtype=np.int64)) * specs[0].dtype.size, shape, specs[0].dtype
