"""Does the summary say what Keras' says, character by character?"""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf as tf

L = tf.keras.layers


def text_of(model: Any, **how: Any) -> str:
    lines: list[str] = []
    model.summary(print_fn=lines.append, line_length=how.pop("line_length", 76), **how)
    return "\n".join(lines)


CHAIN = """\
Model: "sequential"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ conv2d (Conv2D)                 │ (None, 26, 26, 32)     │           320 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ batch_normalization             │ (None, 26, 26, 32)     │           128 │
│ (BatchNormalization)            │                        │               │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ flatten (Flatten)               │ (None, 21632)          │             0 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense (Dense)                   │ (None, 10)             │       216,330 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 216,778 (846.79 KB)
 Trainable params: 216,714 (846.54 KB)
 Non-trainable params: 64 (256.00 B)"""


def test_chain_of_layers_is_a_table_of_three_columns() -> None:
    layers = [tf.keras.Input((28, 28, 1)), L.Conv2D(32, 3), L.BatchNormalization(), L.Flatten(), L.Dense(10)]

    assert CHAIN == text_of(tf.keras.Sequential(layers))


GRAPH = """\
Model: "functional"
┏━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┓
┃ Layer (type)        ┃ Output Shape      ┃    Param # ┃ Connected to      ┃
┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━┩
│ a (InputLayer)      │ (None, 4)         │          0 │ -                 │
├─────────────────────┼───────────────────┼────────────┼───────────────────┤
│ b (InputLayer)      │ (None, 4)         │          0 │ -                 │
├─────────────────────┼───────────────────┼────────────┼───────────────────┤
│ concatenate         │ (None, 8)         │          0 │ a[0][0], b[0][0]  │
│ (Concatenate)       │                   │            │                   │
└─────────────────────┴───────────────────┴────────────┴───────────────────┘
 Total params: 0 (0.00 B)
 Trainable params: 0 (0.00 B)
 Non-trainable params: 0 (0.00 B)"""


def test_branches_are_told_in_a_fourth_column() -> None:
    a, b = tf.keras.Input((4,), name="a"), tf.keras.Input((4,), name="b")

    assert GRAPH == text_of(tf.keras.Model([a, b], L.concatenate([a, b])))


def test_unbuilt_layers_have_question_marks() -> None:
    assert "│ dense (Dense)                   │ ?                      │   0 (unbuilt) │" in text_of(
        tf.keras.Sequential([L.Dense(1)])
    )


def test_subclassed_model_shows_shapes_of_its_first_call() -> None:
    class Mine(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = L.Dense(3)

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs)

    model = Mine()
    model(np.ones((2, 3)))

    assert "│ dense (Dense)                   │ (2, 3)                 │            12 │" in text_of(model)


def test_layers_of_inner_models_are_shown_when_asked_for() -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.Sequential([L.Dense(1, name="deep")], name="inner")])

    assert "│    └ deep (Dense)" not in text_of(model)
    assert "│    └ deep (Dense)" in text_of(model, expand_nested=True)


def test_column_says_what_is_trainable() -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), L.Dense(1), L.ReLU()])
    model.layers[0].trainable = False
    text = text_of(model, show_trainable=True)

    assert ["┃ Trai… ┃" in text, "│   N   │" in text, "│   -   │" in text] == [True, True, True]
