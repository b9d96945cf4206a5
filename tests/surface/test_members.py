"""Do objects have the members that guides use?"""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf


def _objects() -> dict[str, Any]:
    layer = tf.keras.layers.Dense(1)
    model = tf.keras.Sequential([tf.keras.Input((2,)), layer])
    model.compile("sgd", "mse")
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    data = tf.data.Dataset.range(2).batch(1)
    return {
        "Tensor": tf.constant(1.0),
        "Variable": tf.Variable(1.0),
        "GradientTape": tf.GradientTape(),
        "TensorShape": tf.TensorShape([1]),
        "DType": tf.float32,
        "LogicalDevice": tf.config.list_logical_devices()[0],
        "Module": tf.Module(),
        "Generator": tf.random.Generator.from_seed(1),
        "Dataset": data,
        "Strategy": strategy,
        "Layer": layer,
        "Model": model,
        "Optimizer": model.optimizer,
        "Metric": tf.keras.metrics.Mean(),
        "KerasTensor": tf.keras.Input((2,)),
        "keras.Variable": layer.kernel,
        "DTypePolicy": tf.keras.mixed_precision.Policy("mixed_float16"),
        "Checkpoint": tf.train.Checkpoint(),
        "RaggedTensor": tf.ragged.constant([[1], []]),
        "SparseTensor": tf.SparseTensor([[0]], [1], [1]),
    }


MEMBERS = {
    "Tensor": "numpy shape dtype device ndim __matmul__ __eq__ __mod__ __float__ __int__ __len__ __format__ __array__",
    "Variable": "assign assign_add assign_sub numpy shape dtype name __matmul__ __pow__",
    "GradientTape": "gradient watch batch_jacobian jacobian reset stop_recording watched_variables",
    "TensorShape": "as_list rank __getitem__",
    "DType": "name",
    "LogicalDevice": "name device_type",
    "Module": "variables trainable_variables submodules",
    "Generator": "normal uniform reset_from_seed split state key algorithm",
    "Dataset": "batch shuffle map repeat take enumerate cache prefetch shard with_options element_spec cardinality",
    "Strategy": "scope experimental_distribute_dataset num_replicas_in_sync run distribute_datasets_from_function "
    "reduce experimental_distribute_values_from_function experimental_local_results",
    "Layer": "trainable_variables add_loss add_weight kernel variables add_metric dtype_policy output weights",
    "Model": "compile fit evaluate save summary trainable_variables layers save_weights variables add "
    "get_config add_loss get_layer get_weights inputs load_weights metrics_names pop predict "
    "set_weights trainable_weights weights",
    "Optimizer": "apply_gradients iterations learning_rate minimize",
    "Metric": "result update_state add_weight reset_state reset_states",
    "KerasTensor": "dtype shape",
    "keras.Variable": "numpy __add__ assign assign_add assign_sub name shape",
    "DTypePolicy": "compute_dtype variable_dtype name",
    "Checkpoint": "restore write save read",
    "RaggedTensor": "shape",
    "SparseTensor": "indices values dense_shape",
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in MEMBERS for name in MEMBERS[kind].split()])
def test_member_is_there(kind: str, name: str) -> None:
    assert hasattr(_objects()[kind], name)
