"""Does each magic have a function with the same words, results and errors, in a program without the extension?"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from typing import Any

import pytest

import nbtf as tf
from nbtf._own_files import own_json
from nbtf.notebook.magics import functions
from nbtf.notebook.magics.functions import _words
from nbtf.notebook.usage_error import UsageError
from tests.notebook.conftest import Shell

TEXTS = own_json("nbtf.notebook.magics", "magics.json")
UNKNOWN = "nothing_like_it"
REQUIRED = {"%%device": "CPU:0", "%%needs": "json", "%cluster": "status"}
"""Arguments without which another error comes first."""

BODY = {True: ["x = 1"], False: []}
"""The lines of a cell below a cell magic, and below a line magic."""

TEXT = {magic: tuple(words.split()) for magic, words in REQUIRED.items()} | {"%%explain": ("a text",)}
"""The same arguments for functions; that of `%%explain` is its cell."""


def function_name(magic: str) -> str:
    """Returns the name of a magic's function, by the rule that the page about front ends states."""
    name = magic.lstrip("%")
    both = {f"%{name}", f"%%{name}"} <= TEXTS.keys()
    return f"{name}_block" if magic.startswith("%%") and both and name != "explain" else name


NAMES = {magic: function_name(magic) for magic in TEXTS}


def call(name: str, *words: str, **options: Any) -> Any:
    """Calls a function of `tf.notebook`, and enters its block if it returns one."""
    result = getattr(tf.notebook, name)(*words, **options)
    if name in ("placement", "device_block", "gpu_memory_block"):
        with result:
            return None
    return result


def error_of(name: str, *words: str, **options: Any) -> str:
    with pytest.raises(UsageError) as refused:
        call(name, *words, **options)
    return str(refused.value)


def keyword_of(argument: dict[str, Any]) -> str:
    return argument["flags"].split()[-1].lstrip("-").replace("-", "_")


def test_each_magic_has_a_function_and_each_function_a_magic() -> None:
    public = {name for name, value in vars(functions).items() if inspect.isfunction(value) and name[0] != "_"}
    own = {name for name in public if getattr(functions, name).__module__ == functions.__name__}

    assert set(NAMES.values()) == own
    assert own <= set(tf.notebook.__all__)
    assert all(callable(getattr(tf.notebook, name)) for name in own)


@pytest.mark.parametrize("magic", TEXTS)
def test_an_unknown_option_has_the_error_of_the_magic(shell: Shell, magic: str) -> None:
    ran = shell.run(f"{magic} {REQUIRED.get(magic, '')} --{UNKNOWN.replace('_', '-')}", *BODY[magic.startswith("%%")])

    assert "unknown option --nothing-like-it" in str(ran.error)
    assert str(ran.error) == error_of(NAMES[magic], *TEXT.get(magic, ()), **{UNKNOWN: True})


@pytest.mark.parametrize("magic", TEXTS)
def test_functions_have_the_help_of_their_magics(magic: str, capsys: pytest.CaptureFixture[str]) -> None:
    call(NAMES[magic], *TEXT.get(magic, ()), help=True)

    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: {magic} ")
    for argument in TEXTS[magic]["arguments"]:
        if argument["flags"].startswith("-"):
            assert argument["flags"].split()[-1] in printed


@pytest.mark.parametrize("magic", TEXTS)
def test_every_option_of_a_magic_is_a_keyword_of_its_function(magic: str) -> None:
    """Each keyword becomes the word that the magic's parser has for this option."""
    options = functions._magics()[magic].options
    for argument in TEXTS[magic]["arguments"]:
        if argument["flags"].startswith("-"):
            (word,) = _words((), {keyword_of(argument): True})
            assert any(word in action.option_strings for action in options._actions), argument["flags"]


def test_functions_return_what_magics_return(shell: Shell) -> None:
    for magic, function in (
        ("%devices --physical", lambda: tf.notebook.devices(physical=True)),
        ("%gpu_memory GPU:1 --all", lambda: tf.notebook.gpu_memory("GPU:1", all=True)),
        ("%placement_log table --op '*MatMul'", lambda: tf.notebook.placement_log("table", op="*MatMul")),
        ("%device", tf.notebook.device),
    ):
        assert repr(shell.run(magic).result) == repr(function())


def test_a_block_is_checked_at_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(tf.runtime.ExpectationError, match="MatMul"), tf.notebook.placement(expect=["MatMul=GPU:7"]):
        tf.matmul([[1.0]], [[2.0]])

    with tf.notebook.placement(diff=True):
        tf.add(1.0, 2.0)
    assert "First run of this cell" in capsys.readouterr().out


def test_a_block_that_fails_shows_its_own_error_and_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    tf.runtime.simulate_gpus(2)
    devices: list[str] = []

    def fail_on(device: str) -> None:
        with tf.notebook.device_block(device):
            devices.append(tf.add(1.0, 2.0).device)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_on("GPU:1")

    assert devices[0].endswith("GPU:1")
    assert tf.add(1.0, 2.0).device.endswith("GPU:0")
    session = functions._session_with_magics()
    assert session.cell is None
    assert [] == session._endings


def test_blocks_compare_runs_of_the_same_line_only(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with tf.notebook.placement(diff=True):
            tf.add(1.0, 2.0)
    with tf.notebook.placement(diff=True):
        tf.add(1.0, 2.0)

    said = re.findall("First run|No change", capsys.readouterr().out)
    assert ["First run", "No change", "First run"] == said


def test_a_prediction_needs_a_cell() -> None:
    assert "nbtf predict" in error_of("gpu_memory_block", predict="T4")


def test_functions_need_no_ipython() -> None:
    program = (
        "import sys\n"
        "for name in ('IPython', 'ipywidgets', 'anywidget', 'traitlets'): sys.modules[name] = None\n"
        "import nbtf as tf\n"
        "tf.notebook.devices(), tf.notebook.gpu_memory(), tf.notebook.placement_log('table')\n"
        "tf.notebook.explain('CUDA out of memory')\n"
        "with tf.notebook.placement(table=True): tf.add(1.0, 2.0)\n"
        "try: tf.notebook.devices(fysical=True)\n"
        "except Exception as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=False)

    assert 0 == ran.returncode, ran.stderr
    assert re.search(r"AddV2 +CPU:0", ran.stdout)
    assert "Did you mean --physical?" in ran.stdout


def test_loading_the_extension_ends_the_session_of_the_program(bare: Shell) -> None:
    before = functions._session_with_magics()
    tf.load_ipython_extension(bare.ip)

    assert functions._session_with_magics() is not before
