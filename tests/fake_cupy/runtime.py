"""`cupy.cuda.runtime`: the CUDA runtime's functions, and its error."""

from __future__ import annotations

import ctypes
import time
from typing import Any

from tests.fake_cupy.machine import MACHINE

is_hip = False
memcpyDefault = 4  # noqa: N816  # CuPy's name, as all below
NAMES = {
    2: "cudaErrorMemoryAllocation: out of memory",
    3: "cudaErrorInitializationError: initialization error",
    35: "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version",
    46: "cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable",
    100: "cudaErrorNoDevice: no CUDA-capable device is detected",
    101: "cudaErrorInvalidDevice: invalid device ordinal",
    214: "cudaErrorECCUncorrectable: uncorrectable ECC error encountered",
    700: "cudaErrorIllegalAddress: an illegal memory access was encountered",
    702: "cudaErrorLaunchTimeout: the launch timed out and was terminated",
    704: "cudaErrorPeerAccessAlreadyEnabled: peer access is already enabled",
    719: "cudaErrorLaunchFailure: unspecified launch failure",
}


class CUDARuntimeError(RuntimeError):
    """What the runtime raises; `.status` is its number [1.8]."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(NAMES.get(status, f"cudaError{status}"))


def getDevice() -> int:  # noqa: N802
    MACHINE.need()
    return MACHINE.device


def setDevice(device: int) -> None:  # noqa: N802
    MACHINE.need()
    MACHINE.use(device)


def getDeviceCount() -> int:  # noqa: N802
    MACHINE.need()
    return len(MACHINE.cards)


def getDeviceProperties(device: int) -> dict[str, Any]:  # noqa: N802
    """Needs no context [1.1]."""
    card = MACHINE.cards[device]
    major, minor = card.capability
    name, uuid = card.name.encode(), card.uuid
    return {"name": name, "totalGlobalMem": card.memory, "major": major, "minor": minor, "uuid": uuid}


def deviceGetPCIBusId(device: int) -> str:  # noqa: N802
    return MACHINE.cards[device].bus_id.upper()


def memGetInfo() -> tuple[int, int]:  # noqa: N802
    card = MACHINE.cards[MACHINE.touch()]
    return card.memory - card.taken, card.memory


def deviceCanAccessPeer(device: int, peer: int) -> int:  # noqa: N802
    return int(MACHINE.peers and device != peer)


def deviceEnablePeerAccess(peer: int) -> None:  # noqa: N802
    MACHINE.did("peer", MACHINE.touch(), peer)


def deviceSynchronize() -> None:  # noqa: N802
    MACHINE.did("sync", "device", MACHINE.touch())


def driverGetVersion() -> int:  # noqa: N802
    return 13000 if MACHINE.available else 0


def runtimeGetVersion() -> int:  # noqa: N802
    return 12090


def memcpyAsync(target: int, source: int, size: int, kind: int, stream: int) -> None:  # noqa: N802
    MACHINE.did("memcpy", size, stream)
    ctypes.memmove(target, source, size)


def wait_a_moment(seconds: float) -> None:
    """Stands for the compiler of kernels; tests replace it."""
    time.sleep(seconds)
