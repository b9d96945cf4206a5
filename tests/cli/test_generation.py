from __future__ import annotations

import pytest

from nbtf.cli.generation import name_of_tensorflow_1


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import tensorflow as tf\nwith tf.Session() as sess: pass", "tf.Session"),
        ("import tensorflow\nx = tensorflow.placeholder('float32')", "tensorflow.placeholder"),
        ("%matplotlib inline\nimport tensorflow as t\n!pip install x\nt.train.Saver()", "t.train.Saver"),
        ("import tensorflow as tf\nif True:\n    !ls\ntf.contrib.layers.fully_connected(x)", "tf.contrib"),
        ("%%time\nimport tensorflow as tf\ntf.log(x)", "tf.log"),
    ],
)
def test_names_of_tensorflow_1_are_seen(source: str, name: str) -> None:
    assert name == name_of_tensorflow_1([source])


@pytest.mark.parametrize(
    "source",
    [
        "import tensorflow as tf\ntf.compat.v1.Session()",
        "import tensorflow.compat.v1 as tf\ntf.Session()",
        "from tensorflow.compat import v1 as tf\ntf.Session()",
        "import tensorflow as tf\nimport tensorflow.compat.v1 as tf\ntf.Session()",
        "import tensorflow as tf\n# tf.Session()\nprint('tf.Session')",
        "import tensorflow as tf\ntf.control_dependencies([]), tf.zeros_initializer(), tf.Graph()",
        "import requests as tf\ntf.Session()",
        "import tensorflow as tf\nprint 'tf.Session', tf.Session()",
        "import tensorflow as tf\ntf.no_such_name",
        "%%bash\nimport tensorflow as tf; tf.Session(",
        "",
    ],
)
def test_programs_of_tensorflow_2_have_none(source: str) -> None:
    assert name_of_tensorflow_1([source]) is None


def test_cells_are_one_program() -> None:
    assert "tf.Session" == name_of_tensorflow_1(["import tensorflow as tf", "this is no Python", "tf.Session()"])
