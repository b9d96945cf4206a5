"""What can follow in a line with one of our magics?"""

from __future__ import annotations

import re
from typing import Any

from IPython.core import completer

from nbtf import runtime
from nbtf.notebook.checks.questions import QUESTIONS
from nbtf.notebook.device_names import AUTO
from nbtf.notebook.magics.check import exercise_names
from nbtf.notebook.magics.export import FORMATS
from nbtf.notebook.magics.options import before_comment
from nbtf.notebook.magics.placement_log import ACTIONS
from nbtf.notebook.session import Session


def add_completion(session: Session) -> None:
    """Adds the matcher to the shell's completer until the session stops."""

    def matcher(context: Any) -> Any:
        hits = words(session, context.line_with_cursor[: context.cursor_position])
        return {"completions": [completer.SimpleCompletion(text=word) for word in hits], "suppress": bool(hits)}

    def text_matcher(text: str) -> list[str]:
        return words(session, session.shell.Completer.text_until_cursor)

    context_matcher: Any = getattr(completer, "context_matcher", None)  # missing in IPython 7
    decorated = context_matcher(identifier="nbtf.magics")(matcher) if context_matcher else text_matcher
    matchers = session.shell.Completer.custom_matchers
    matchers.append(decorated)
    session.on_stop(lambda: matchers.remove(decorated))


def words(session: Session, line: str) -> list[str]:
    """Returns the words that can complete a line, given the text so far."""
    match = re.match(r"\s*(%%?\w+)\s+(?:(.*)\s)?(\S*)$", line)
    if match is None or match[1] not in session.magic_words or before_comment(line) != line:
        return []
    words_before, typed = (match[2] or "").split(), match[3].lower()
    fitting = _fitting(match[1], words_before, session.magic_words[match[1]])
    return [word for word in fitting if word.lower().startswith(typed) and word not in words_before]


def _fitting(magic: str, words_before: list[str], options: tuple[str, ...]) -> list[str]:
    devices = [device.name for device in runtime.devices()]
    last = words_before[-1] if words_before else ""
    if magic == "%placement_log":
        if last == "--device":
            return devices
        if last in ("export", "--format"):
            return list(FORMATS)
        actions = ACTIONS if set(words_before) & set(ACTIONS) else ()
        return [word for word in options if word not in actions]
    if magic in ("%%device", "%device"):
        has_name = any(not word.startswith("-") for word in words_before)
        return [*([] if has_name else [*devices, AUTO]), *options]
    if magic == "%check":
        return [*exercise_names(), *QUESTIONS, *options]
    gpus = [name for name in devices if name.startswith("GPU")]
    return [*(gpus if magic == "%gpu_memory" else []), *options]
