"""Do the namespaces offer TensorFlow's names and nothing else, and load only what they need?"""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nbtf as tf
from nbtf._ops.operators import OPERATORS
from nbtf._public import public_names
from nbtf.compat import _v1

OWN = {"runtime", "cli", "notebook"}
"""Names in the root that TensorFlow does not have, beside `gpu`."""

NAMESPACES = [
    "nbtf",
    *(
        f"nbtf.{found.name}"
        for found in pkgutil.iter_modules(tf.__path__)
        if found.name[0] != "_" and found.name not in {"cli", "notebook", "python", "simulate"}
    ),
]


def public(module: ModuleType) -> list[str]:
    return [name for name in dir(module) if name[0] != "_"]


@pytest.mark.parametrize("name", NAMESPACES)
def test_namespace_offers_nothing_that_is_not_from_nbtf(name: str) -> None:
    module = importlib.import_module(name)

    origins = {name: _origin(getattr(module, name)) for name in public(module)}

    assert {} == {name: origin for name, origin in origins.items() if not origin.startswith("nbtf")}


def _origin(thing: Any) -> str:
    """The module that something was made in; plain values and type aliases are taken for our own."""
    if isinstance(thing, ModuleType):
        return thing.__name__
    if isinstance(thing, int | str) or thing is None or not callable(thing):
        kind = type(thing).__module__
        return "nbtf" if kind in ("builtins", "types", "typing") else kind
    return thing.__module__ or "nbtf"


@pytest.mark.parametrize("name", NAMESPACES)
def test_namespace_offers_no_machinery(name: str) -> None:
    module = importlib.import_module(name)

    assert set() == {"annotations", "Any", "Callable", "CURRENT", "Context", "np", "TYPE_CHECKING"} & set(
        public(module)
    )


LATE = {"nbtf", "nbtf.compat", "nbtf.keras", "nbtf.runtime"}
"""Namespaces that show names which are loaded when they are used."""

ROOMS = [
    "nbtf.distribute.cluster_resolver",
    "nbtf.distribute.experimental",
    *(f"{_v1.__name__}.{module.name}" for module in pkgutil.iter_modules(_v1.__path__) if module.name[0] != "_"),
]


@pytest.mark.parametrize("name", [*(name for name in NAMESPACES if name not in LATE), *ROOMS])
def test_namespace_offers_what_it_defines_or_passes_on_alone(name: str) -> None:
    """Not the files that it is made of, which importing them puts there."""
    assert [] == sorted(set(public(importlib.import_module(name))) - set(public_names(name)))


@pytest.mark.parametrize("name", NAMESPACES)
def test_namespace_offers_everything_it_defines_or_passes_on(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    defined: set[str] = set()
    for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.ImportFrom):  # `import x as x` passes a name on
            defined.update(alias.name for alias in node.names if alias.asname == alias.name)

    assert set() == {name for name in defined if name[0] != "_"} - set(dir(module))


def test_everything_offered_is_there() -> None:
    for name in NAMESPACES:
        module = importlib.import_module(name)
        assert [] == [one for one in dir(module) if not hasattr(module, one)], name


def test_root_offers_the_namespaces() -> None:
    assert {name.removeprefix("nbtf.") for name in NAMESPACES[1:]} <= set(dir(tf))


def test_name_that_is_loaded_on_first_use_is_the_module() -> None:
    assert tf.random is importlib.import_module("nbtf.random")


# Dead ends


@pytest.mark.parametrize(
    "name", ["Session", "placeholder", "ConfigProto", "GPUOptions", "global_variables_initializer", "get_variable"]
)
def test_name_of_tensorflow_1_says_what_to_import(name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(tf, name)

    advice = f"It belongs to TensorFlow 1: write `tf.compat.v1.{name}`, or `import nbtf.compat.v1 as tf` for a whole"
    assert f"module 'nbtf' has no attribute '{name}'" == str(caught.value)
    assert caught.value.__notes__[0].startswith(advice)


@pytest.mark.parametrize("name", ["Session", "contrib", "mul", "compat.v1.contrib", "compat.v1.train.batch"])
def test_python_adds_no_guess_to_what_says_what_to_write(name: str) -> None:
    code = f"import nbtf as tf\ntf.{name}"
    *_, text, note = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.splitlines()

    assert text.endswith(f"has no attribute '{name.rpartition('.')[2]}'")
    assert note.endswith(".")


def test_python_guesses_what_was_mistyped() -> None:
    code = "import nbtf as tf\ntf.hesians"

    assert (
        "Did you mean: 'hessians'?"
        in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    )


@pytest.mark.parametrize(
    ("name", "today"),
    [
        ("mul", "tf.multiply"),
        ("log", "tf.math.log"),
        ("to_float", "tf.cast(x, tf.float32)"),
        ("random_normal", "tf.random.normal"),
        ("Print", "tf.print"),
    ],
)
def test_renamed_name_says_todays(name: str, today: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(tf, name)

    assert caught.value.__notes__[0].endswith(f"Current name: {today}.")


def test_contrib_says_what_became_of_it() -> None:
    with pytest.raises(AttributeError, match=r"^module 'nbtf' has no attribute 'contrib'") as caught:
        tf.contrib  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]  # as a checker says, too

    assert caught.value.__notes__[0].startswith("tf.contrib ended with TensorFlow 1. Its parts are now in tf.keras")


def test_name_that_never_was_is_just_not_there() -> None:
    with pytest.raises(AttributeError, match=r"^module 'nbtf' has no attribute 'banana'\.?$"):
        tf.banana  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]  # as a checker says, too


def test_attribute_can_be_asked_for_with_a_default() -> None:
    assert 3 == getattr(tf, "Session", 3)


# What an import loads


def run(code: str, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a fresh interpreter that finds nbtf."""
    here = str(Path(tf.__path__[0]).parent)
    command = [sys.executable, *options, "-c", code]
    environ = {**os.environ, **environ}
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=here, env=environ)


def modules_of(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    return set(run(f"{code}\nimport sys; print(*sys.modules)").stdout.split())


def test_import_loads_little_more_than_numpy() -> None:
    more = modules_of("import nbtf") - modules_of("import numpy")

    foreign = {name.partition(".")[0] for name in more} - {"nbtf"}
    heavy = {
        "asyncio",
        "concurrent",
        "email",
        "html",
        "http",
        "importlib",
        "inspect",
        "json",
        "logging",
        "multiprocessing",
    }
    heavy |= {"pathlib", "random", "socket", "ssl", "subprocess", "tempfile", "typing", "unittest", "urllib", "xml"}
    never = {"IPython", "anywidget", "cupy", "dask", "ipywidgets", "keras", "matplotlib", "pynvml", "tensorflow"}
    assert set() == foreign & (heavy | never)
    assert set() == {name for name in more if name.startswith(("numpy.random", "numpy.testing", "nbtf._cluster"))}


def test_import_leaves_namespaces_for_later_use_alone() -> None:
    loaded = modules_of("import nbtf")

    assert {"nbtf.errors", "nbtf.version"} == {f"nbtf.{name}" for name in dir(tf)} & loaded
    assert set() == {"nbtf.notebook", "nbtf.cli"} & loaded


def test_import_loads_no_file_of_names_that_are_fetched_on_first_use() -> None:
    loaded = modules_of("import nbtf")

    assert set() == set(tf._FETCHED_ON_FIRST_USE.values()) & loaded
    assert {f.__module__ for f in OPERATORS.values()} < loaded
    rooms = {name.split(".")[2] for name in loaded if name.startswith("nbtf._ops.") and name.count(".") == 3}
    assert {"arrays", "linalg", "math", "reductions"} == rooms


def test_first_constant_may_be_made_of_tensors() -> None:
    code = "import nbtf as tf; x = tf.constant(1.0); print(tf.constant([[x, x + 1], [x * 3, -x]]).numpy().tolist())"

    assert "[[1.0, 2.0], [3.0, -1.0]]\n" == run(code).stdout


@pytest.mark.parametrize(
    "code",
    [
        "tf.constant([1, 2, 3])[tf.constant([True, False, True])]",
        "tf.constant([1, 2, 3])[tf.constant(1)]",
        "tf.Variable([1.0]) + 1",
        "2 - tf.Variable(1.0)",
        "[*tf.constant([1, 2])]",
        "round(abs(tf.constant(-1.0)).numpy())",
        "tf.runtime.recording()",
        "tf.config.list_logical_devices()",
    ],
)
def test_first_use_may_be_any(code: str) -> None:
    assert run(f"import nbtf as tf\nprint({code})").stdout


def test_import_loads_nothing_that_only_listeners_need() -> None:
    record = {f"nbtf._record.{name}" for name in ("recorder", "table", "sequence", "totals", "queries", "replay")}
    looks = {f"nbtf._runtime.{name}" for name in ("expectations", "explanation", "fitting", "holding", "inventory")}

    assert set() == (record | looks) & modules_of("import nbtf")


def test_listing_names_loads_nothing() -> None:
    assert modules_of("import nbtf") == modules_of("import nbtf; dir(nbtf)")


def test_import_starts_nothing_and_prints_nothing() -> None:
    code = "import nbtf; print(nbtf._runtime.context.CURRENT.context.configuration.frozen)"
    ran = run(code, "-W", "error", NBTF_SIMULATED_GPUS="4")

    assert ("False\n", "") == (ran.stdout, ran.stderr)


# The logger

LOGGER = """
import logging
logger = nbtf.get_logger()
logger.info("quiet"); logger.warning("loud")
(handler,) = logger.handlers
assert logger is nbtf.get_logger() is logging.getLogger("tensorflow") and [handler] == logger.handlers
"""


def logged(code: str) -> tuple[str, str]:
    ran = run(code)
    return ran.stdout, ran.stderr


def test_logger_of_a_script_warns_on_stderr() -> None:
    assert ("", "WARNING:tensorflow:loud\n") == logged(f"import nbtf\n{LOGGER}")


def test_logger_of_a_notebook_informs_on_stdout() -> None:
    assert ("INFO:tensorflow:quiet\nWARNING:tensorflow:loud\n", "") == logged(
        f"import nbtf, sys\nsys.ps1 = 'In : '\n{LOGGER}"
    )


def test_logger_leaves_a_configured_root_alone() -> None:
    code = (
        "import logging, nbtf\nlogging.basicConfig(format='mine: %(message)s')\n"
        "nbtf.get_logger().warning('loud'); assert [] == nbtf.get_logger().handlers"
    )

    assert ("", "mine: loud\n") == logged(code)
