"""Diagrams of models, which nbtf does not draw."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.arguments import check_has


def plot_model(model: Any, *args: Any, **kwargs: Any) -> None:
    """Draws no image and prints an alternative.

    Args:
      model: a model.
      *args, **kwargs: Keras' further arguments, which are ignored.
    """
    check_has(model, "layers", "model", "a model")
    print(  # noqa: T201  # programs that draw should go on, and the user should see why the image is missing
        "plot_model draws no image and writes no file. Use model.summary() to show the layers."
    )
