"""Draws how an op was placed on its device: a box for each placement rule that was tried."""

from __future__ import annotations

from collections.abc import Callable

from nbtf import runtime
from nbtf.notebook.stills.drawing import drawn
from nbtf.notebook.stills.marks import WIDTH, Picture
from nbtf.notebook.stills.reasons import is_as_asked, phrases_of, reason_in_words


def decision(
    explanation: runtime.Explanation, width: float = WIDTH, code_line: Callable[[runtime.Site], str] = str
) -> Picture:
    """Returns a picture of a tensor's placement and the decision path to it.

    Args:
      explanation: an explanation with a reason, from `tf.runtime.explain_placement`.
      width: in px; at least 240 are used.
      code_line: formats a line of the program as text.
    """
    op, reason = explanation.op or "", explanation.reason or runtime.Reason("")
    device, _, model = explanation.label.partition(" (simulated ")
    placement = {
        "device": device,
        "reason": reason_in_words(reason, op),
        "asked": is_as_asked(reason, explanation.device),
        "op": op,
        "about": f"{list(explanation.shape)} {explanation.dtype}",
        "model": model.removesuffix(")"),
        "path": phrases_of(explanation.path),
        "line": code_line(explanation.site) if explanation.site else "",
    }
    return drawn("decision", placement, width)
