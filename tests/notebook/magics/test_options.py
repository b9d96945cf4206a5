"""Is a word that a magic does not have answered with those that it has?"""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from nbtf.notebook.magics.options import Options, typed


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
    text = "%magic: it takes no --colour. There are --live, --who, --help. %magic -h says what there is."

    assert text == refusal(options, "--colour")


@pytest.mark.parametrize("line", ["--whoo", "--wh", "--who --live --whos", "who", "1 who"])
def test_a_word_that_is_like_another_asks_for_it(options: Options, line: str) -> None:
    assert "Did you mean --who?" in refusal(options, line)


def test_a_value_that_is_like_no_word_has_its_own_refusal_alone(options: Options) -> None:
    assert "%magic: invalid literal for int() with base 10: 'banana'" == refusal(options, "banana")
