"""The border of `tf.keras`: what nbtf leaves to the real Keras, and the errors that say how to run it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import NoReturn, TypeVar

from nbtf._missing import absence as _absence
from nbtf._public import public_names

E = TypeVar("E", bound=Exception)

ADVICE = (
    'nbtf has a small tf.keras. The full Keras runs on nbtf: pip install -e ".[keras]", then '
    "nbtf.present_as_tensorflow() and import keras."
)
"""How to run a program that needs more; `.github/docs/reference/keras_3.md` explains it."""

BEYOND: Mapping[str, str] = {
    "nbtf.keras": (
        "FloatDTypePolicy Function Operation Quantizer RematScope StatelessScope SymbolicScope applications device "
        "distillation distribution dtype_policies export name_scope ops quantizers remat tree visualization wrappers"
    ),
    "nbtf.keras.activations": (
        "celu glu hard_shrink hard_silu hard_swish hard_tanh log_sigmoid log_softmax mish relu6 soft_shrink "
        "sparse_plus sparse_sigmoid sparsemax squareplus tanh_shrink threshold"
    ),
    "nbtf.keras.backend": (
        "all any arange argmax argmin batch_dot batch_flatten batch_get_value batch_normalization batch_set_value "
        "bias_add binary_crossentropy binary_focal_crossentropy cast_to_floatx categorical_crossentropy "
        "categorical_focal_crossentropy concatenate constant conv1d conv2d conv2d_transpose conv3d cos count_params "
        "ctc_batch_cost ctc_decode ctc_label_dense_to_sparse cumprod cumsum depthwise_conv2d dot dropout dtype elu "
        "eval expand_dims eye foldl foldr gather get_uid gradients greater greater_equal hard_sigmoid in_top_k "
        "is_float_dtype is_int_dtype is_keras_tensor is_sparse l2_normalize less less_equal map_fn "
        "moving_average_update name_scope ndim not_equal one_hot ones ones_like permute_dimensions pool2d pool3d prod "
        "random_bernoulli random_normal_variable random_uniform random_uniform_variable relu repeat repeat_elements "
        "reshape resize_images resize_volumes result_type reverse rnn separable_conv2d set_image_data_format sign sin "
        "softmax softplus softsign sparse_categorical_crossentropy spatial_2d_padding spatial_3d_padding squeeze "
        "stack standardize_dtype stop_gradient switch tanh temporal_padding tile to_dense transpose truncated_normal "
        "update update_add update_sub variable zeros zeros_like"
    ),
    "nbtf.keras.callbacks": "BackupAndRestore OrbaxCheckpoint RemoteMonitor SwapEMAWeights",
    "nbtf.keras.config": (
        "disable_flash_attention disable_interactive_logging enable_flash_attention enable_interactive_logging "
        "is_flash_attention_enabled is_interactive_logging_enabled is_nnx_enabled max_epochs max_steps_per_epoch "
        "set_backend set_image_data_format set_max_epochs set_max_steps_per_epoch"
    ),
    "nbtf.keras.constraints": "MinMaxNorm min_max_norm",
    "nbtf.keras.datasets": "boston_housing california_housing cifar100 imdb reuters",
    "nbtf.keras.initializers": "Identity IdentityInitializer STFT STFTInitializer identity stft",
    "nbtf.keras.layers": (
        "ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D "
        "AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D AdditiveAttention AlphaDropout Attention "
        "AugMix AutoContrast AveragePooling3D AvgPool3D CenterCrop ContrastLimitedAdaptiveHistogramEqualization "
        "Conv1DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Convolution1D Convolution1DTranspose "
        "Convolution2D Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D "
        "CutMix DepthwiseConv1D DepthwiseConv2D Discretization Dot ELU EinsumDense Equalization FlaxLayer GRUCell "
        "GaussianDropout GaussianNoise GlobalAveragePooling3D GlobalAvgPool3D GlobalMaxPool3D GlobalMaxPooling3D "
        "GroupNormalization GroupQueryAttention HashedCrossing Hashing Identity IntegerLookup JaxLayer LSTMCell "
        "Masking MaxNumBoundingBoxes MaxPool3D MaxPooling3D Maximum MelSpectrogram Minimum MixUp MultiHeadAttention "
        "PReLU Permute Pipeline RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration "
        "RandomColorJitter RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip "
        "RandomGaussianBlur RandomGrayscale RandomHeight RandomHue RandomInvert RandomPerspective RandomPosterization "
        "RandomRotation RandomSaturation RandomSharpness RandomShear RandomTranslation RandomWidth RandomZoom "
        "RepeatVector Resizing ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D "
        "SeparableConvolution1D SeparableConvolution2D SimpleRNNCell Solarization SpatialDropout1D SpatialDropout2D "
        "SpatialDropout3D SpectralNormalization StackedRNNCells Subtract TFSMLayer TextVectorization ThresholdedReLU "
        "TorchModuleWrapper UnitNormalization UpSampling1D UpSampling3D Wrapper ZeroPadding1D ZeroPadding3D "
        "deserialize dot maximum minimum serialize subtract"
    ),
    "nbtf.keras.losses": (
        "BinaryFocalCrossentropy CTC CategoricalFocalCrossentropy CategoricalGeneralizedCrossEntropy CategoricalHinge "
        "Circle Dice MSLE MeanSquaredLogarithmicError SquaredHinge Tversky binary_focal_crossentropy "
        "categorical_focal_crossentropy categorical_generalized_cross_entropy categorical_hinge circle ctc dice "
        "mean_squared_logarithmic_error msle squared_hinge tversky"
    ),
    "nbtf.keras.metrics": (
        "BinaryIoU CategoricalHinge ConcordanceCorrelation CosineSimilarity F1Score FBetaScore Hinge IoU KLD "
        "KLDivergence LogCoshError MAE MAPE MSE MSLE MeanIoU MeanSquaredLogarithmicError OneHotIoU OneHotMeanIoU "
        "PearsonCorrelation Poisson PrecisionAtRecall R2Score RecallAtPrecision SensitivityAtSpecificity "
        "SpecificityAtSensitivity SquaredHinge binary_crossentropy binary_focal_crossentropy categorical_crossentropy "
        "categorical_focal_crossentropy categorical_hinge concordance_correlation hinge huber kl_divergence kld "
        "kullback_leibler_divergence log_cosh logcosh mae mape mean_absolute_error mean_absolute_percentage_error "
        "mean_squared_error mean_squared_logarithmic_error mse msle pearson_correlation poisson "
        "sparse_categorical_crossentropy squared_hinge"
    ),
    "nbtf.keras.optimizers": "Adafactor Lamb Lion MultiOptimizer Muon OptimizerMap ScheduleFreeAdamW",
    "nbtf.keras.optimizers.schedules": "CosineDecayRestarts",
    "nbtf.keras.preprocessing": (
        "image_dataset_from_directory text text_dataset_from_directory timeseries_dataset_from_array"
    ),
    "nbtf.keras.preprocessing.image": (
        "DirectoryIterator ImageDataGenerator Iterator NumpyArrayIterator apply_affine_transform "
        "apply_brightness_shift apply_channel_shift img_to_array load_img random_brightness random_channel_shift "
        "random_rotation random_shear random_shift random_zoom save_img smart_resize"
    ),
    "nbtf.keras.preprocessing.sequence": "TimeseriesGenerator make_sampling_table skipgrams",
    "nbtf.keras.random": "beta binomial categorical gamma randint shuffle truncated_normal uniform",
    "nbtf.keras.regularizers": "OrthogonalRegularizer orthogonal_regularizer",
    "nbtf.keras.saving": "KerasFileEditor",
    "nbtf.keras.utils": (
        "Config FeatureSpace audio_dataset_from_directory bounding_boxes disable_interactive_logging "
        "enable_interactive_logging get_file get_source_inputs image_dataset_from_directory img_to_array "
        "is_interactive_logging_enabled is_keras_tensor load_img model_to_dot normalize pack_x_y_sample_weight "
        "save_img split_dataset standardize_dtype text_dataset_from_directory timeseries_dataset_from_array "
        "unpack_x_y_sample_weight"
    ),
}
"""The names of Keras 3.15 that nbtf does not have, by namespace."""

ARGUMENTS = frozenset(
    (
        "use_ema ema_momentum ema_overwrite_frequency gradient_accumulation_steps loss_scale_factor lora_rank "
        "lora_alpha quantization_config positions layer_range idf_weights pad_to_max_tokens sparse encoding salt "
        "oov_method vocabulary_dtype clone_function input_tensors call_function recursive"
    ).split()
)
"""Arguments of Keras 3.15 that nbtf's layers, optimizers and functions of the same names do not have."""

_FLAT = frozenset(name.replace("_", "").lower() for names in BEYOND.values() for name in names.split()) | ARGUMENTS


def advised(error: E, *names: object) -> E:
    """Returns an error, with the advice as a note if one of the names or arguments is the real Keras' alone."""
    if any(isinstance(name, str) and (name in ARGUMENTS or name.replace("_", "").lower() in _FLAT) for name in names):
        error.add_note(ADVICE)
    return error


def absence(module: str, name: str) -> AttributeError:
    """Returns the AttributeError for a missing name of a module, with the advice if the real Keras has the name."""
    beyond = name in BEYOND.get(module, "").split()
    return _absence(module, name, ADVICE if beyond else "")


def guard(module: str) -> None:
    """Makes `dir` of a module show its public names only, and adds the advice to errors for names beyond the border."""
    names = vars(sys.modules[module])
    names["__dir__"], names["__getattr__"] = partial(public_names, module), partial(refuse, module)


def refuse(module: str, name: str) -> NoReturn:
    """Raises the error for a missing name.

    Raises:
      ImportError: if an import statement names something beyond the border; Python would drop the note of another.
      AttributeError: otherwise.
    """
    error = absence(module, name)
    caller = sys._getframe(1)
    importing = "_handle_fromlist" in [frame.f_code.co_name for frame in (caller, caller.f_back) if frame is not None]
    if importing and hasattr(error, "__notes__"):
        raise ImportError(f"cannot import name {name!r} from {module!r}. {ADVICE}", name=name)
    raise error


def check_arguments(function: str, arguments: Mapping[str, object]) -> None:
    """Checks that a function received no unknown keyword arguments.

    Raises:
      TypeError: if it received one.
    """
    for name in arguments:
        raise advised(TypeError(f"{function}() got an unexpected keyword argument '{name}'"), name)
