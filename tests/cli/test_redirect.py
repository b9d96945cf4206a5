"""Do TensorFlow's import lines lead to nbtf, and are shell commands left out?"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import nbtf
from nbtf._as_tensorflow import modules
from nbtf._runtime.aliases import AliasFinder
from nbtf.cli import redirect
from nbtf.cli.comparison import what_is_missing
from nbtf.cli.execution import CellError


@pytest.fixture
def redirected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """TensorFlow's names lead to nbtf until the test ends."""
    importlib.import_module("nbtf.python")  # finds its modules by itself
    monkeypatch.setattr(sys, "meta_path", [AliasFinder("tensorflow", modules.counterpart), *sys.meta_path])
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorflow"]:
        del sys.modules[name]


def imported(line: str) -> dict[str, Any]:
    """The names that an import line binds."""
    names: dict[str, Any] = {}
    exec(line, names)
    return names


@pytest.mark.usefixtures("redirected")
@pytest.mark.parametrize(
    ("line", "name", "ours"),
    [
        ("import tensorflow as tf", "tf", "nbtf"),
        ("import tensorflow", "tensorflow", "nbtf"),
        ("from tensorflow import errors", "errors", "nbtf.errors"),
        ("import tensorflow.errors", "tensorflow", "nbtf"),
        ("import tensorflow.errors as e", "e", "nbtf.errors"),
    ],
)
def test_import_line_binds_nbtf(line: str, name: str, ours: str) -> None:
    assert importlib.import_module(ours) is imported(line)[name]


@pytest.mark.usefixtures("redirected")
def test_names_are_found_in_a_module() -> None:
    assert nbtf.errors.InvalidArgumentError is imported("from tensorflow.errors import InvalidArgumentError as E")["E"]


@pytest.mark.usefixtures("redirected")
def test_namespace_inside_a_plain_module_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = ModuleType("inner")
    monkeypatch.setattr(nbtf.errors, "inner", inner, raising=False)

    assert inner is imported("import tensorflow.errors.inner as inner")["inner"]


@pytest.mark.usefixtures("redirected")
@pytest.mark.parametrize("line", ["import tensorflow.nothing.below", "from tensorflow.nothing import a"])
def test_module_that_nbtf_lacks_is_named_in_the_words_of_the_notebook(line: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^tf\.nothing is not in nbtf yet$"):
        imported(line)


@pytest.mark.usefixtures("redirected")
def test_packages_with_similar_names_are_left_alone() -> None:
    with pytest.raises(ModuleNotFoundError, match="'tensorflow_no_such_package'"):
        imported("import tensorflow_no_such_package")


@pytest.mark.usefixtures("redirected")
def test_nbtf_itself_is_as_before() -> None:
    imported("import tensorflow.errors")

    assert ("nbtf", "nbtf.errors") == (nbtf.__spec__.name, nbtf.errors.__spec__.name)


class Shell:
    """As much of IPython's shell as the redirect touches."""

    def __init__(self) -> None:
        self.published: list[str] = []
        self.magics: dict[tuple[str, str], Any] = {}
        self.display_pub = SimpleNamespace(publish=lambda data, metadata: self.published.extend(data.values()))
        self.system: Any = None
        self.getoutput: Any = None

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        self.magics[kind, name] = function


def test_shell_lines_are_left_out_and_told() -> None:
    shell = Shell()
    redirect.leave_out_commands(shell)
    shell.system("pip install tensorflow")
    listing = shell.getoutput("ls")

    assert [] == listing
    assert ["!pip install tensorflow", "!ls"] == shell.published


def test_magics_are_left_out_and_told() -> None:
    shell = Shell()
    redirect.leave_out_commands(shell)
    shell.magics["line", "tensorflow_version"]("2.x")
    shell.magics["line_cell", "bash"]("", "rm -rf everything")

    assert ["%tensorflow_version 2.x", "%%bash"] == shell.published


@pytest.mark.usefixtures("redirected")
@pytest.mark.parametrize(
    ("line", "name", "ours"),
    [
        ("from tensorflow.python.client import device_lib", "device_lib", "nbtf.compat._v1.device_lib"),
        ("import tensorflow.python.client.device_lib as d", "d", "nbtf.compat._v1.device_lib"),
        ("from tensorflow.python.framework import ops", "ops", "nbtf.compat._v1"),
        ("from tensorflow.python.keras import backend as K", "K", "nbtf.keras.backend"),
        ("from tensorflow.keras import layers", "layers", "nbtf.keras.layers"),
        ("import tensorflow.keras.layers as layers", "layers", "nbtf.keras.layers"),
        ("import tensorflow.compat.v1 as tf", "tf", "nbtf.compat._v1"),
        ("from tensorflow.compat import v1 as tf", "tf", "nbtf.compat._v1"),
        ("import tensorflow.compat.v1.train as train", "train", "nbtf.compat._v1.train"),
        ("import tensorflow.compat.v2 as tf", "tf", "nbtf"),
    ],
)
def test_modules_that_programs_import_are_nbtfs(line: str, name: str, ours: str) -> None:
    assert importlib.import_module(ours) is imported(line)[name]


@pytest.mark.usefixtures("redirected")
def test_tensorflow_1_is_eager_until_it_is_switched_as_in_tensorflow_2() -> None:
    assert imported("import tensorflow.compat.v1 as tf")["tf"].executing_eagerly()


@pytest.mark.usefixtures("redirected")
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("from tensorflow.examples.tutorials.mnist import input_data", "tf.examples is not in nbtf yet"),
        ("import tensorflow.contrib.slim", "tf.contrib is not in nbtf yet"),
        ("from tensorflow.python.tpu import tpu", "tf.python.tpu is not in nbtf yet"),
        ("from tensorflow.python.framework import tensor_util", "tf.python.framework.tensor_util is not in nbtf yet"),
        ("from tensorflow.compat.v1.profiler import X", "tf.compat.v1.profiler is not in nbtf yet"),
    ],
)
def test_what_is_not_here_is_named(line: str, text: str) -> None:
    with pytest.raises(ImportError) as caught:
        imported(line)

    assert text == what_is_missing(CellError(type(caught.value).__name__, str(caught.value)))


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("tensorflow", "nbtf.compat._v1"),
        ("tensorflow.compat.v1", "nbtf.compat._v1"),
        ("tensorflow.train", "nbtf.compat._v1.train"),
        ("tensorflow.errors", "nbtf.errors"),
        ("tensorflow.keras.layers", "nbtf.keras.layers"),
        ("tensorflow.python.client.device_lib", "nbtf.compat._v1.device_lib"),
    ],
)
def test_programs_of_tensorflow_1_find_its_modules(name: str, ours: str) -> None:
    assert importlib.import_module(ours) is modules.old_counterpart(name)
