"""`tf.nn`: activations, softmax and losses."""

from nbtf._ops.activations import crelu as crelu
from nbtf._ops.activations import elu as elu
from nbtf._ops.activations import gelu as gelu
from nbtf._ops.activations import leaky_relu as leaky_relu
from nbtf._ops.activations import relu as relu
from nbtf._ops.activations import relu6 as relu6
from nbtf._ops.activations import selu as selu
from nbtf._ops.activations import silu as silu
from nbtf._ops.activations import softplus as softplus
from nbtf._ops.activations import softsign as softsign
from nbtf._ops.convolution import conv2d as conv2d
from nbtf._ops.convolution import conv2d_transpose as conv2d_transpose
from nbtf._ops.convolution_by_rank import conv1d as conv1d
from nbtf._ops.convolution_by_rank import convolution as convolution
from nbtf._ops.functions import sigmoid as sigmoid
from nbtf._ops.functions import tanh as tanh
from nbtf._ops.local_response import local_response_normalization as local_response_normalization
from nbtf._ops.local_response import lrn as lrn
from nbtf._ops.losses import compute_average_loss as compute_average_loss
from nbtf._ops.losses import scale_regularization_loss as scale_regularization_loss
from nbtf._ops.losses import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from nbtf._ops.losses import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from nbtf._ops.losses import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from nbtf._ops.losses import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from nbtf._ops.nn import batch_normalization as batch_normalization
from nbtf._ops.nn import bias_add as bias_add
from nbtf._ops.nn import dropout as dropout
from nbtf._ops.nn import embedding_lookup as embedding_lookup
from nbtf._ops.norms import l2_loss as l2_loss
from nbtf._ops.norms import l2_normalize as l2_normalize
from nbtf._ops.ordering import in_top_k as in_top_k
from nbtf._ops.ordering import top_k as top_k
from nbtf._ops.pooling import avg_pool2d as avg_pool2d
from nbtf._ops.pooling import max_pool2d as max_pool2d
from nbtf._ops.pooling_by_rank import avg_pool as avg_pool
from nbtf._ops.pooling_by_rank import avg_pool1d as avg_pool1d
from nbtf._ops.pooling_by_rank import max_pool as max_pool
from nbtf._ops.pooling_by_rank import max_pool1d as max_pool1d
from nbtf._ops.softmax import log_softmax as log_softmax
from nbtf._ops.softmax import softmax as softmax
from nbtf._ops.statistics import moments as moments
from nbtf._ops.statistics import zero_fraction as zero_fraction

swish = silu
