"""`tf.raw_ops`: ops that no other function leads to, by their types."""

from nbtf._ops.activations import ReluGrad as ReluGrad
from nbtf._ops.convolution import Conv2DBackpropFilter as Conv2DBackpropFilter
from nbtf._ops.extent import MirrorPadGrad as MirrorPadGrad
from nbtf._ops.functions import SigmoidGrad as SigmoidGrad
from nbtf._ops.functions import TanhGrad as TanhGrad
from nbtf._ops.indexing import StridedSliceGrad as StridedSliceGrad
from nbtf._ops.local_response import LRNGrad as LRNGrad
from nbtf._ops.pooling import AvgPoolGrad as AvgPoolGrad
from nbtf._ops.pooling import MaxPoolGrad as MaxPoolGrad
from nbtf._ops.pooling import MaxPoolGradGrad as MaxPoolGradGrad
from nbtf._ops.shape import Rank as Rank
from nbtf._ops.shape import Size as Size
