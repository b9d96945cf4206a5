# What type checkers see of `nbtf.compat.v1.nn`; written by `python -m tests.compat.v1_types`.
from nbtf.compat._v1._surface.neural import avg_pool as avg_pool
from nbtf.compat._v1._surface.neural import batch_normalization as batch_normalization
from nbtf.compat._v1._surface.neural import conv2d as conv2d
from nbtf.compat._v1._surface.neural import conv2d_transpose as conv2d_transpose
from nbtf.compat._v1._surface.neural import dropout as dropout
from nbtf.compat._v1._surface.neural import embedding_lookup as embedding_lookup
from nbtf.compat._v1._surface.neural import fused_batch_norm as fused_batch_norm
from nbtf.compat._v1._surface.neural import in_top_k as in_top_k
from nbtf.compat._v1._surface.neural import l2_normalize as l2_normalize
from nbtf.compat._v1._surface.neural import log_softmax as log_softmax
from nbtf.compat._v1._surface.neural import max_pool as max_pool
from nbtf.compat._v1._surface.neural import moments as moments
from nbtf.compat._v1._surface.neural import relu_layer as relu_layer
from nbtf.compat._v1._surface.neural import softmax as softmax
from nbtf.compat._v1._surface.neural import xw_plus_b as xw_plus_b
from nbtf.compat._v1._surface.neural import zero_fraction as zero_fraction
from nbtf.compat._v1._surface.neural_losses import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
)
from nbtf.compat._v1._surface.neural_losses import (
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
)
from nbtf.compat._v1._surface.neural_losses import (
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
)
from nbtf.compat._v1._surface.neural_losses import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from nbtf.compat._v1._surface.neural_losses import (
    weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
)
from nbtf.nn import avg_pool1d as avg_pool1d
from nbtf.nn import avg_pool2d as avg_pool2d
from nbtf.nn import bias_add as bias_add
from nbtf.nn import compute_average_loss as compute_average_loss
from nbtf.nn import conv1d as conv1d
from nbtf.nn import convolution as convolution
from nbtf.nn import crelu as crelu
from nbtf.nn import elu as elu
from nbtf.nn import gelu as gelu
from nbtf.nn import l2_loss as l2_loss
from nbtf.nn import leaky_relu as leaky_relu
from nbtf.nn import local_response_normalization as local_response_normalization
from nbtf.nn import lrn as lrn
from nbtf.nn import max_pool1d as max_pool1d
from nbtf.nn import max_pool2d as max_pool2d
from nbtf.nn import relu as relu
from nbtf.nn import relu6 as relu6
from nbtf.nn import scale_regularization_loss as scale_regularization_loss
from nbtf.nn import selu as selu
from nbtf.nn import sigmoid as sigmoid
from nbtf.nn import silu as silu
from nbtf.nn import softplus as softplus
from nbtf.nn import softsign as softsign
from nbtf.nn import swish as swish
from nbtf.nn import tanh as tanh
from nbtf.nn import top_k as top_k
