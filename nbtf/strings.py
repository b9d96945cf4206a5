"""`tf.strings`: functions of tensors of texts."""

from typing import NoReturn

from nbtf import _missing
from nbtf._ops.string_joining import join as join
from nbtf._ops.string_joining import reduce_join as reduce_join
from nbtf._ops.string_pieces import bytes_split as bytes_split
from nbtf._ops.string_pieces import split as split
from nbtf._ops.strings import as_string as as_string
from nbtf._ops.strings import length as length
from nbtf._ops.strings import lower as lower
from nbtf._ops.strings import regex_full_match as regex_full_match
from nbtf._ops.strings import regex_replace as regex_replace
from nbtf._ops.strings import strip as strip
from nbtf._ops.strings import substr as substr
from nbtf._ops.strings import to_number as to_number
from nbtf._ops.strings import upper as upper
from nbtf._ops.tensor_text import format as format
from nbtf._ops.unicode import unicode_decode as unicode_decode
from nbtf._ops.unicode import unicode_encode as unicode_encode
from nbtf._ops.unicode import unicode_split as unicode_split
from nbtf._ops.unicode import unicode_transcode as unicode_transcode
from nbtf._public import public_names as _public_names


def __dir__() -> list[str]:
    return _public_names(__name__)


def __getattr__(name: str) -> NoReturn:
    raise _missing.of_namespace(__name__, name, _public_names(__name__))
