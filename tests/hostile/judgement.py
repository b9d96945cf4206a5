"""Decides which errors a public function may raise."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.hostile.answers import Answer

ALLOWED = {"builtins.TypeError", "builtins.ValueError", "builtins.NotImplementedError", "builtins.ImportError"}
OURS = "nbtf.errors."


def leak_of(answer: Answer, functions: Mapping[str, Callable[..., Any]]) -> bool:
    """Returns whether an answer is an error that neither the rule nor the function's docstring permits."""
    if not answer.error or answer.error in ALLOWED or answer.error.startswith(OURS):
        return False
    if answer.error.startswith("builtins.") and ALLOWED.intersection(answer.bases):
        return False  # such as UnicodeDecodeError
    function = functions.get(answer.call.partition("(")[0].removeprefix("tf."))
    names = [answer.error, *(answer.bases if answer.error.startswith("builtins.") else ())]
    classes = {name.rpartition(".")[2] for name in names} - {"Exception"}
    return function is None or not classes & documented(function)


def documented(function: Callable[..., Any]) -> set[str]:
    """Returns the classes that a docstring names under Raises."""
    texts = [inspect.getdoc(function) or "", inspect.getdoc(getattr(function, "__init__", None)) or ""]
    sections = [text.partition("Raises:\n")[2].partition("\n\n")[0] for text in texts]
    return {name for section in sections for name in re.findall(r"^\s+(\w+):", section, re.MULTILINE)}
