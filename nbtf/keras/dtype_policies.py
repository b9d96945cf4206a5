"""`tf.keras.dtype_policies`: the dtypes in which layers compute and store weights."""

from nbtf.keras.dtypes import DTypePolicy as DTypePolicy
from nbtf.keras.dtypes import as_policy as _as_policy

get = _as_policy
