"""`tf.strings`: functions for string tensors."""

from typing import NoReturn

from nbtf import _missing
from nbtf._ops.strings.formatting import format as format
from nbtf._ops.strings.hashes import to_hash_bucket_fast as to_hash_bucket_fast
from nbtf._ops.strings.hashes import to_hash_bucket_strong as to_hash_bucket_strong
from nbtf._ops.strings.joining import join as join
from nbtf._ops.strings.joining import reduce_join as reduce_join
from nbtf._ops.strings.ngrams import ngrams as ngrams
from nbtf._ops.strings.splitting import bytes_split as bytes_split
from nbtf._ops.strings.splitting import split as split
from nbtf._ops.strings.texts import as_string as as_string
from nbtf._ops.strings.texts import length as length
from nbtf._ops.strings.texts import lower as lower
from nbtf._ops.strings.texts import regex_full_match as regex_full_match
from nbtf._ops.strings.texts import regex_replace as regex_replace
from nbtf._ops.strings.texts import strip as strip
from nbtf._ops.strings.texts import substr as substr
from nbtf._ops.strings.texts import to_number as to_number
from nbtf._ops.strings.texts import upper as upper
from nbtf._ops.strings.unicode import unicode_decode as unicode_decode
from nbtf._ops.strings.unicode import unicode_encode as unicode_encode
from nbtf._ops.strings.unicode import unicode_split as unicode_split
from nbtf._ops.strings.unicode import unicode_transcode as unicode_transcode
from nbtf._public import public_names as _public_names


def __dir__() -> list[str]:
    return _public_names(__name__)


def __getattr__(name: str) -> NoReturn:
    raise _missing.of_namespace(__name__, name, _public_names(__name__))
