"""`tf.dtypes`: element types by name, and conversion between them."""

from nbtf import _types
from nbtf._ops.math.arithmetic import cast as cast
from nbtf._ops.math.complex_numbers import complex as complex
from nbtf._ops.math.magnitude import saturate_cast as saturate_cast
from nbtf._types import DType as DType
from nbtf._types import as_dtype as as_dtype
from nbtf._types import bfloat16 as bfloat16
from nbtf._types import complex64 as complex64
from nbtf._types import complex128 as complex128
from nbtf._types import float16 as float16
from nbtf._types import float32 as float32
from nbtf._types import float64 as float64
from nbtf._types import int8 as int8
from nbtf._types import int16 as int16
from nbtf._types import int32 as int32
from nbtf._types import int64 as int64
from nbtf._types import resource as resource
from nbtf._types import string as string
from nbtf._types import uint8 as uint8
from nbtf._types import uint16 as uint16
from nbtf._types import uint32 as uint32
from nbtf._types import uint64 as uint64
from nbtf._types import variant as variant

bool: DType = _types.bool_
half = float16
double = float64
