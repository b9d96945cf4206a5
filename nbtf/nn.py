"""`tf.nn`: activations, softmax and losses."""

from nbtf._ops.linalg.norms import l2_loss as l2_loss
from nbtf._ops.linalg.norms import l2_normalize as l2_normalize
from nbtf._ops.math.exponentials import sigmoid as sigmoid
from nbtf._ops.math.exponentials import tanh as tanh
from nbtf._ops.math.ordering import in_top_k as in_top_k
from nbtf._ops.math.ordering import top_k as top_k
from nbtf._ops.nn.activations import crelu as crelu
from nbtf._ops.nn.activations import elu as elu
from nbtf._ops.nn.activations import gelu as gelu
from nbtf._ops.nn.activations import leaky_relu as leaky_relu
from nbtf._ops.nn.activations import relu as relu
from nbtf._ops.nn.activations import relu6 as relu6
from nbtf._ops.nn.activations import selu as selu
from nbtf._ops.nn.activations import silu as silu
from nbtf._ops.nn.activations import softplus as softplus
from nbtf._ops.nn.activations import softsign as softsign
from nbtf._ops.nn.convolution import conv1d as conv1d
from nbtf._ops.nn.convolution import conv2d as conv2d
from nbtf._ops.nn.convolution import conv2d_transpose as conv2d_transpose
from nbtf._ops.nn.convolution import convolution as convolution
from nbtf._ops.nn.layers import batch_normalization as batch_normalization
from nbtf._ops.nn.layers import bias_add as bias_add
from nbtf._ops.nn.layers import dropout as dropout
from nbtf._ops.nn.layers import embedding_lookup as embedding_lookup
from nbtf._ops.nn.local_response import local_response_normalization as local_response_normalization
from nbtf._ops.nn.local_response import lrn as lrn
from nbtf._ops.nn.losses import compute_average_loss as compute_average_loss
from nbtf._ops.nn.losses import scale_regularization_loss as scale_regularization_loss
from nbtf._ops.nn.losses import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from nbtf._ops.nn.losses import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from nbtf._ops.nn.losses import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from nbtf._ops.nn.losses import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from nbtf._ops.nn.pooling import avg_pool as avg_pool
from nbtf._ops.nn.pooling import avg_pool1d as avg_pool1d
from nbtf._ops.nn.pooling import avg_pool2d as avg_pool2d
from nbtf._ops.nn.pooling import max_pool as max_pool
from nbtf._ops.nn.pooling import max_pool1d as max_pool1d
from nbtf._ops.nn.pooling import max_pool2d as max_pool2d
from nbtf._ops.nn.softmax import log_softmax as log_softmax
from nbtf._ops.nn.softmax import softmax as softmax
from nbtf._ops.reductions.statistics import moments as moments
from nbtf._ops.reductions.statistics import zero_fraction as zero_fraction

swish = silu
