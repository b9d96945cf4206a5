"""`tf.io`: what bytes mean."""

from typing import NoReturn

from nbtf import _missing
from nbtf._ops.strings.splitting import decode_raw as decode_raw

__all__ = ["decode_raw"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> NoReturn:
    raise _missing.of_namespace(__name__, name, __all__)
