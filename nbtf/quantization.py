"""`tf.quantization`: functions that simulate the rounding of quantized models."""

from nbtf._ops.quantization.fake_quantization import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from nbtf._ops.quantization.fake_quantization import (
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
)
from nbtf._ops.quantization.fake_quantization import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from nbtf._ops.quantization.fake_quantization import (
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
)
from nbtf._ops.quantization.fake_quantization import (
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
from nbtf._ops.quantization.fake_quantization import (
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
