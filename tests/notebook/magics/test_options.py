"""Is a word that a magic does not have answered with those that it has?"""

from __future__ import annotations

from typing import NoReturn

import pytest
from IPython.core.error import UsageError

from nbtf.notebook.magics.options import Options, typed
from nbtf.notebook.session import SESSIONS
from tests.notebook.conftest import Shell


@pytest.fixture
def options() -> Options:
    options = Options("%magic", "Does something.")
    options.add_argument("size", nargs="*", type=typed(int))
    options.add_argument("--live", action="store_true")
    options.add_argument("--who", action="store_true")
    return options


def refusal(options: Options, line: str) -> str:
    with pytest.raises(UsageError) as refused:
        options.read(line)
    return str(refused.value)


def test_a_word_that_is_like_none_is_answered_with_all(options: Options) -> None:
    text = "%magic: unknown option --colour. Options: --live, --who, --help. Run %magic -h for help."

    assert text == refusal(options, "--colour")


@pytest.mark.parametrize("line", ["--whoo", "--wh", "--who --live --whos", "who", "1 who"])
def test_a_word_that_is_like_another_asks_for_it(options: Options, line: str) -> None:
    assert "Did you mean --who?" in refusal(options, line)


def test_a_value_that_is_like_no_word_has_its_own_refusal_alone(options: Options) -> None:
    assert "%magic: invalid literal for int() with base 10: 'banana'" == refusal(options, "banana")


COMMENTS = ("# why?", "#why", "# it's here", '# a "quoted', "# --help", "# --predict", "# -h # again", "# --who?", "##")


@pytest.mark.parametrize("comment", COMMENTS)
def test_every_magic_takes_a_comment(shell: Shell, monkeypatch: pytest.MonkeyPatch, comment: str) -> None:
    given: list[list[str]] = []

    def parse_args(options: Options, words: list[str]) -> NoReturn:
        given.append([options.prog, *words])
        raise UsageError("read")

    monkeypatch.setattr(Options, "parse_args", parse_args)
    registered = SESSIONS[shell.ip].magic_words
    for magic in registered:
        for line in ("", "a 'b # c' d#e", *registered[magic]):
            given.clear()
            for annotated in (line, f"{line}  {comment}"):
                shell.run(f"{magic} {annotated}", "value = 1")

            assert len(given) == (0 if line == "--help" else 2), (magic, line)
            assert given[1:] == given[:-1], (magic, line)
            assert [magic] == [words[0] for words in given[:1]] or line == "--help"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("'a # b'", ["a # b"]),
        ('"a # b" # c', ["a # b"]),
        ("a#b", ["a#b"]),
        ("'a'#b", ["a#b"]),
        ("a\t#b", ["a"]),
        ("'#'", ["#"]),
        ("#", []),
    ],
)
def test_a_hash_in_quotes_or_in_a_word_begins_no_comment(line: str, words: list[str]) -> None:
    options = Options("%magic", "Does something.")
    options.add_argument("words", nargs="*")
    read = options.read(line)

    assert read is not None
    assert read.words == words


def test_a_cell_below_a_comment_runs(shell: Shell) -> None:
    ran = shell.run(
        "%%device GPU:1 --hard  # here?", "%%placement --expect MatMul=GPU:1  # y", "tf.ones([1, 1]) @ [[2.0]]"
    )

    assert ran.error is None
    assert "MatMul" in ran.out or ran.result is not None
