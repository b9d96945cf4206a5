"""What is offered after the magics?"""

from __future__ import annotations

import re

import pytest
from IPython.core.completer import provisionalcompleter

from nbtf.notebook.magics.completion import words
from nbtf.notebook.session import SESSIONS
from tests.notebook.conftest import Shell
from tests.shells import OLD_IPYTHON


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%%device g", ["GPU:0", "GPU:1"]),
        ("%%device GPU:1 --s", ["--soft", "--summary"]),
        ("%device a", ["auto"]),
        ("%placement_log e", ["export"]),
        ("%placement_log export ", ["csv", "json", "chrome", "nbtf"]),
        ("%placement_log show --device C", ["CPU:0"]),
        ("%gpu_memory --l", ["--live"]),
        ("%gpu_memory --live G", ["GPU:0", "GPU:1"]),
        ("%check one_ch", ["one_character"]),
        ("%check tower_", ["tower_log", "tower_sum"]),
        ("%gpu_memory # --l", []),
        ("%timeit ", []),
        ("x = 1", []),
    ],
)
def test_only_words_that_fit_are_offered(shell: Shell, line: str, expected: list[str]) -> None:
    assert expected == words(SESSIONS[shell.ip], line)


def test_every_option_in_the_help_of_a_magic_is_offered(shell: Shell) -> None:
    session = SESSIONS[shell.ip]
    assert {
        "%check",
        "%cluster",
        "%devices",
        "%placement_log",
        "%gpu_memory",
        "%%gpu_memory",
        "%%placement",
        "%device",
        "%%device",
        "%%needs",
        "%explain",
        "%%explain",
    } == set(session.magic_words)
    for magic in session.magic_words:
        options = re.findall(r"^  (?:-\w, )?(--?[\w-]+)", shell.run(f"{magic} --help").out, re.MULTILINE)

        assert "--help" in options
        assert set(options) <= set(words(session, f"{magic} -"))


def test_shell_offers_nothing_else(shell: Shell) -> None:
    with provisionalcompleter():
        offered = list(shell.ip.Completer.completions("%placement_log o", 16))

    words_of_python = {"or"} if OLD_IPYTHON else set()  # which it cannot be kept from offering
    assert {"off", "on"} == {completion.text for completion in offered} - words_of_python
