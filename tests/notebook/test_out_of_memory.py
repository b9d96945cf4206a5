"""What does a notebook show below a cell that ran out of GPU memory?"""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.sizes import gib, part_of
from nbtf.notebook.error_reports.tracebacks import in_order
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.stills import memory_pictures
from nbtf.notebook.stills.marks import texts_of
from nbtf.notebook.stills.memory_pictures import Still, picture_of_failure
from tests.notebook.conftest import ENOUGH, Shell

FILL = ("held = []", "for _ in range(15):", "    held.append(tf.zeros([2**8, 2**12]))", "del held[4:12:2]")
COLOURS = re.compile("\x1b\\[[\\d;]*m")


@pytest.fixture
def shown(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What cells display, on a card of 64 MiB; a busy machine searches as long as it takes."""
    displayed: list[Any] = []
    monkeypatch.setattr(memory_pictures, "_FAILURE_SECONDS", ENOUGH)
    monkeypatch.setattr("IPython.display.display", displayed.append)
    shell.run('tf.runtime.simulate_gpus(1, memory="64MiB")')
    return displayed


def words_of(still: Still) -> str:
    return " ".join(text.words for text in texts_of(still.picture.marks))


def test_the_picture_is_headed_by_what_would_make_the_request_fit(shell: Shell, shown: list[Still]) -> None:
    shell.run(*FILL)
    failed = shell.run("big = tf.zeros([2**9, 2**12])")

    [still] = shown
    headline = max(texts_of(still.picture.marks), key=lambda text: text.size)
    assert isinstance(failed.error, tf.errors.ResourceExhaustedError)
    assert "would fit after: del held[3]" == headline.words
    assert shell.run("del held[3]", "big = tf.zeros([2**9, 2**12])").error is None


def test_a_restart_does_not_hide_what_would_fit(shell: Shell, shown: list[Still]) -> None:
    shell.run("tf.runtime.restart()", *FILL)
    shell.run("big = tf.zeros([2**9, 2**12])")

    assert "would fit after: del held[3]" in words_of(shown[0])


def test_its_figures_are_the_allocators(shell: Shell, shown: list[Still]) -> None:
    random = Random(4)
    for _ in range(6):
        shell.run(
            "tf.runtime.restart()",
            f"held = [tf.zeros([2**16 * n]) for n in {[random.randint(1, 40) for _ in range(8)]}]",
        )
        shell.run(f"del held[{random.randrange(3)}::3]")
        shown.clear()
        shell.run("big = tf.zeros([2**24 - 2**16])")
        [still], [gpu] = shown, tf.runtime.devices()[1:]
        holes = [chunk.size for region in tf.runtime.memory_map("GPU:0") for chunk in region.chunks if not chunk.in_use]
        assert gpu.in_use is not None
        assert gpu.memory_limit is not None
        assert f"free {gib(sum(holes))}, largest {gib(max(holes))}" in words_of(still)
        assert f"{part_of(gpu.in_use, gpu.memory_limit)} in use." in still.picture.title
        assert f"{gib(2**26 - 2**18)} needed" in words_of(still)


def test_the_first_line_of_the_error_says_what_did_not_fit(shell: Shell, shown: list[Still]) -> None:
    shell.run(*FILL)
    failed = shell.run("big = tf.zeros([2**9, 2**12])")

    lines = COLOURS.sub("", failed.out).splitlines()
    [message] = [line for line in lines if line.startswith("ResourceExhaustedError:")]
    assert message.startswith("ResourceExhaustedError: simulated GPU:0")
    assert "8 MiB requested, 48 of 64 MiB in use." in message
    assert str(failed.error).startswith("{{function_node __wrapped__Fill")  # programs read TensorFlow's text
    assert shown


def test_frames_of_libraries_are_not_shown(shell: Shell, shown: list[Still]) -> None:
    cell = ("def train():", "    return tf.zeros([2**24])", "train()")
    failed = COLOURS.sub("", shell.run(*cell).out)
    shell.run("tf.debugging.disable_traceback_filtering()")
    whole = COLOURS.sub("", shell.run(*cell).out)

    assert "return tf.zeros([2**24])" in failed
    assert ".py:" not in failed
    assert "frames of libraries are not shown]" in failed
    assert "execute.py:" in whole
    assert "not shown" not in whole
    assert len(shown) == 2


def test_other_errors_are_shown_as_before(shell: Shell, shown: list[Still]) -> None:
    said = COLOURS.sub("", shell.run("tf.ones([2]) + tf.ones([3])").out)
    shell.run("try:", "    tf.zeros([2**26])", "except tf.errors.ResourceExhaustedError: pass")

    assert "execute.py:" in said
    assert "{{function_node" in said
    assert not shown


def test_after_many_events_the_picture_shows_the_failure_only(
    shell: Shell, shown: list[Still], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_pictures, "_REPLAYED", 10)
    shell.run(*FILL)
    shell.run("big = tf.zeros([2**9, 2**12])")

    assert "8 MiB needed" in words_of(shown[0])
    assert "held[3]" in words_of(shown[0])


def test_a_device_without_a_failure_has_no_picture(shell: Shell, shown: list[Still]) -> None:
    shell.run(*FILL)

    assert picture_of_failure(SESSIONS[shell.ip], "GPU:0") is None
    assert not shown


def test_unloading_restores_tracebacks(shell: Shell) -> None:
    assert "structured_traceback" in vars(shell.ip.InteractiveTB)
    tf.unload_ipython_extension(shell.ip)

    assert "structured_traceback" not in vars(shell.ip.InteractiveTB)


@pytest.mark.parametrize("text", ["a", "a\nb", "{{function_node a}} b"])
def test_texts_of_other_forms_stay_as_they_are(text: str) -> None:
    assert text == in_order(text)
