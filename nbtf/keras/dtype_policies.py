"""`tf.keras.dtype_policies`: what layers compute with, and what they keep."""

from nbtf.keras.dtypes import DTypePolicy as DTypePolicy
from nbtf.keras.dtypes import as_policy as _as_policy

get = _as_policy
