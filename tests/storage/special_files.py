"""A table of everything that reads a file named by the user, or lying in a named folder, with one file to replace."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import socket
import stat
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import nbtf as tf
from nbtf import cli
from nbtf._as_tensorflow.presentation import present_as_tensorflow
from nbtf._storage import reading
from nbtf.cli.checking.settings import read_settings
from nbtf.keras.datasets import cifar10, fashion_mnist, mnist
from tests.storage import tensor_bundles
from tests.storage.older_checkpoints import as_older
from tests.storage.savers import SAVERS, CommandFailedError, command, model, notebook

keras = tf.keras
_SAVER_OF = {saver.name: saver for saver in SAVERS}


@dataclass(frozen=True)
class FileReader:
    """A way to read: a function that creates a valid file, the file to replace, and a function that reads it."""

    name: str
    prepare: Callable[[Path], object]
    file: str
    read: Callable[[Path], object]


class SpecialFileOpenedError(BaseException):
    """A FIFO or a device was opened. A program that reads it would wait, or read without end."""


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def link_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_socket(path: Path) -> None:
    folder = os.getcwd()
    os.chdir(path.parent)  # the path of a socket may have at most 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(folder)


def make_folder(path: Path) -> None:
    path.mkdir()


def link_to_nothing(path: Path) -> None:
    path.symlink_to(path.with_name("absent"))


SPECIAL_FILES = {
    "FIFO": make_fifo,
    "device": link_to_zeros,
    "socket": make_socket,
    "folder": make_folder,
    "dangling link": link_to_nothing,
}


class OpeningGuard:
    """Stops a program before it opens a FIFO or a device."""

    def __init__(self) -> None:
        self._folder = ""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: Any) -> None:
        if event == "open" and self._folder and str(arguments[0]).startswith(self._folder) and not _may_refuse():
            with contextlib.suppress(OSError):
                mode = os.stat(arguments[0]).st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    raise SpecialFileOpenedError(arguments[0])

    @contextlib.contextmanager
    def over(self, folder: Path) -> Generator[None]:
        """Guards the files of a folder during a block."""
        self._folder = str(folder)
        try:
            yield
        finally:
            self._folder = ""


def _may_refuse() -> bool:
    """Tells whether the one place is about to look what a path is: Python announces `open` before its opener runs."""
    code = sys._getframe(2).f_code
    return code.co_filename == reading.__file__ and code.co_name in ("open_bytes", "open_text")


def replace(path: Path, special_file: str) -> Path:
    """Replaces a regular file, which may lie in a generation of its folder, by a special one; returns its path."""
    if not path.exists():
        (path,) = path.parent.glob(f"generation-*/{path.name}")
    path.unlink()
    SPECIAL_FILES[special_file](path)
    return path


def _saved(name: str) -> Callable[[Path], object]:
    return lambda folder: _SAVER_OF[name].save(folder)


def _loaded(name: str) -> Callable[[Path], object]:
    return lambda folder: _SAVER_OF[name].load(folder)


def _write_bundle(folder: Path) -> None:
    entries, content = tensor_bundles.entries_of({"v": np.float32(1)})
    tensor_bundles.write(folder / "c", tensor_bundles.table(entries.items()), content)


def _write_older(folder: Path) -> None:
    _write_bundle(folder)
    as_older(folder / "c")


def _write(name: str, content: bytes) -> Callable[[Path], object]:
    def prepare(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

    return prepare


def _check(*words: str | Path) -> None:
    """Checks notebooks; what is wrong with one is printed as its verdict."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = cli.main(["notebooks", "check", *map(str, words)])
    if status:
        raise CommandFailedError(status, output.getvalue())


def _predict(folder: Path) -> None:
    with patch("nbtf.cli.predict.find_spec", lambda name: name):  # it reads the notebook before it needs PyTorch
        command("predict", "--gpus", "L4", folder / "lesson.ipynb")


def _lesson(folder: Path) -> None:
    notebook(folder / "lesson.ipynb", "Title")


def _in_folder(*words: str) -> Callable[[Path], None]:
    return lambda folder: command(*words, str(folder / "lesson.ipynb"))


def _program(folder: Path) -> None:
    presented = present_as_tensorflow()  # the command leaves it to the end of its process
    with presented, patch.object(sys, "argv", []), patch.object(sys, "path", [*sys.path]):
        command("run", folder / "program.py")


def _keras_home(load: Callable[[], object]) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        with patch.dict(os.environ, KERAS_HOME=str(folder)):
            return load()

    return read


def _npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _cifar(folder: Path) -> None:
    for name in [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]:
        _write(f"datasets/cifar-10-batches-bin/{name}.bin", bytes(3073))(folder)


def _fashion(folder: Path) -> None:
    for name in ("train", "t10k"):
        _write(f"datasets/fashion-mnist/{name}-labels-idx1-ubyte.gz", gzip.compress(bytes(8 + 1)))(folder)
        _write(f"datasets/fashion-mnist/{name}-images-idx3-ubyte.gz", gzip.compress(bytes(16 + 784)))(folder)


def _project(folder: Path) -> None:
    _lesson(folder)
    (folder / "rules.cfg").write_text("regex: a\nreplace: b\n")
    (folder / "pyproject.toml").write_text("[tool.nbtf.check]\n")


def _translated(folder: Path) -> None:
    _lesson(folder)
    command("notebooks", "translate", folder / "lesson.ipynb", "--language", "ja", accepted=(0, 1))


def _site(folder: Path) -> None:
    _SAVER_OF["site"].prepare(folder)


def _read_gfile(folder: Path) -> None:
    with tf.compat.v1.gfile.GFile(str(folder / "text")) as file:
        file.read()


def _read_weights(folder: Path) -> None:
    model(0).load_weights(folder / "w.weights.h5")


_MANIFEST, _STATE = "manifest.json", "checkpoint"

READERS = (
    FileReader("weights", _saved("weights"), "w.weights.h5", _read_weights),
    FileReader("model in a file", _saved("model in a file"), "m.keras", _loaded("model in a file")),
    FileReader(
        "weights of a model", _saved("model in a file"), "m.keras", lambda f: model(0).load_weights(f / "m.keras")
    ),
    FileReader("manifest of a model", _saved("model in a folder"), f"m/{_MANIFEST}", _loaded("model in a folder")),
    FileReader("part of a model", _saved("model in a folder"), "m/config.json", _loaded("model in a folder")),
    FileReader("save over a manifest", _saved("model in a folder"), f"m/{_MANIFEST}", _saved("model in a folder")),
    FileReader("manifest of a saved model", _saved("saved model"), f"s/{_MANIFEST}", _loaded("saved model")),
    FileReader("part of a saved model", _saved("saved model"), "s/values.npz", _loaded("saved model")),
    FileReader(
        "is there a saved model",
        _saved("saved model"),
        f"s/{_MANIFEST}",
        lambda f: tf.saved_model.contains_saved_model(f / "s"),
    ),
    FileReader("written checkpoint", _saved("written checkpoint"), "c.index", _loaded("written checkpoint")),
    FileReader("older checkpoint", _write_older, "c.npz", lambda f: tf.train.load_variable(f / "c", "v")),
    FileReader("older variables", _write_older, "c.npz", lambda f: tf.train.list_variables(f / "c")),
    FileReader("state", _saved("checkpoint"), _STATE, lambda f: tf.train.latest_checkpoint(f)),
    FileReader(
        "managed checkpoint",
        _saved("managed checkpoint"),
        _STATE,
        lambda f: tf.train.CheckpointManager(tf.train.Checkpoint(), f, 1),
    ),
    FileReader("index", _write_bundle, "c.index", lambda f: tf.train.load_variable(f / "c", "v")),
    FileReader("shard", _write_bundle, "c.data-00000-of-00001", lambda f: tf.train.load_variable(f / "c", "v")),
    FileReader("saver", _saved("saver"), "model-2.index", _loaded("saver")),
    FileReader("state of a saver", _saved("saver"), _STATE, lambda f: tf.compat.v1.train.get_checkpoint_state(f)),
    FileReader(
        "vocabulary",
        _write("words", b"a\nb"),
        "words",
        lambda f: keras.layers.StringLookup(vocabulary=str(f / "words")),
    ),
    FileReader("lines", _write("text", b"a\n"), "text", lambda f: list(tf.data.TextLineDataset(str(f / "text")))),
    FileReader("open file", _write("text", b"a\n"), "text", _read_gfile),
    FileReader(
        "copied file", _write("text", b"a\n"), "text", lambda f: tf.compat.v1.gfile.Copy(f / "text", f / "copy")
    ),
    FileReader(
        "mnist",
        _write("datasets/mnist.npz", _npz(x_train=[1], y_train=[1], x_test=[1], y_test=[1])),
        "datasets/mnist.npz",
        _keras_home(mnist.load_data),
    ),
    FileReader("cifar10", _cifar, "datasets/cifar-10-batches-bin/data_batch_1.bin", _keras_home(cifar10.load_data)),
    FileReader(
        "fashion_mnist",
        _fashion,
        "datasets/fashion-mnist/train-labels-idx1-ubyte.gz",
        _keras_home(fashion_mnist.load_data),
    ),
    FileReader("run", _lesson, "lesson.ipynb", _in_folder("run")),
    FileReader("run of a program", _write("program.py", b"pass\n"), "program.py", _program),
    FileReader("check", _lesson, "lesson.ipynb", lambda f: _check(f / "lesson.ipynb")),
    FileReader("check of a folder", _lesson, "lesson.ipynb", _check),
    FileReader("record", _lesson, "lesson.ipynb", _in_folder("notebooks", "record")),
    FileReader(
        "student",
        _lesson,
        "lesson.ipynb",
        lambda f: command("notebooks", "student", f / "lesson.ipynb", "-o", f / "copies"),
    ),
    FileReader(
        "translate",
        _lesson,
        "lesson.ipynb",
        lambda f: command("notebooks", "translate", "--language", "ja", f / "lesson.ipynb", accepted=(0, 1)),
    ),
    FileReader("catalogue", _translated, "locale/ja/LC_MESSAGES/lesson.po", _translated),
    FileReader("badges", _SAVER_OF["badges"].prepare, "lesson.ipynb", _in_folder("notebooks", "badges")),
    FileReader("predict", _lesson, "lesson.ipynb", _predict),
    FileReader("site", _site, "lesson.ipynb", _SAVER_OF["site"].save),
    FileReader("lock of Pyodide", _site, "pyodide/pyodide-lock.json", _SAVER_OF["site"].save),
    FileReader(
        "rules",
        _project,
        "rules.cfg",
        lambda f: _check("--sanitize", f / "rules.cfg", f / "lesson.ipynb"),
    ),
    FileReader("settings", _project, "pyproject.toml", lambda f: read_settings(f / "pyproject.toml")),
)
