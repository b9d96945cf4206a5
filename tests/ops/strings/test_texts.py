"""Are texts cut, joined and read as TensorFlow does it?"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._ops.strings import kernels
from nbtf._ops.strings.numbers import short_float
from tests.machines import machine

WORDS = ["Gray wolf", "", " a  b "]


# Cutting


@pytest.mark.parametrize(
    ("text", "arguments", "pieces"),
    [
        ("a b c", {}, [b"a", b"b", b"c"]),
        (" a  b ", {}, [b"a", b"b"]),
        (" a  b ", {"sep": " "}, [b"", b"a", b"", b"b", b""]),
        ("a,b,,c", {"sep": ","}, [b"a", b"b", b"", b"c"]),
        ("a,b,,c", {"sep": ",", "maxsplit": 1}, [b"a", b"b,,c"]),
        (" a b  c ", {"maxsplit": 1}, [b"a", b"b  c "]),
        ("a<>b", {"sep": "<>"}, [b"a", b"b"]),
        ("", {}, []),
        ("", {"sep": "x"}, [b""]),
    ],
)
def test_scalar_is_split_into_a_vector(text: str, arguments: dict[str, Any], pieces: list[bytes]) -> None:
    assert pieces == tf.strings.split(text, **arguments).numpy().tolist()


def test_vector_is_split_into_a_ragged_tensor() -> None:
    assert "<tf.RaggedTensor [[b'Gray', b'wolf'], [], [b'a', b'b']]>" == repr(tf.strings.split(WORDS))


def test_matrix_is_split_into_ragged_rows_of_one_length() -> None:
    ragged = tf.strings.split([["a b", "c"], ["d", "e f"]])

    assert "<tf.RaggedTensor [[[b'a', b'b'], [b'c']],\n [[b'd'], [b'e', b'f']]]>" == repr(ragged)
    assert [2, 2, None] == ragged.shape.as_list()


def test_ragged_tensor_is_split_row_by_row() -> None:
    ragged = tf.strings.split(tf.strings.split(["a-b c", "d"]), sep="-")

    assert [[[b"a", b"b"], [b"c"]], [[b"d"]]] == ragged.to_list()


def test_bytes_are_not_characters() -> None:
    assert [b"\xc3", b"\xa4"] == tf.strings.bytes_split("ä").numpy().tolist()
    assert ["ä".encode()] == tf.strings.unicode_split("ä", "UTF-8").numpy().tolist()
    assert [[b"a", b"b"], []] == tf.strings.bytes_split(["ab", ""]).to_list()


# Code points


def test_code_points_are_read_and_written() -> None:
    points = tf.strings.unicode_decode(["aé", "🦆"], "UTF-8")

    assert [[97, 233], [0x1F986]] == points.to_list()
    assert ["aé".encode(), "🦆".encode()] == tf.strings.unicode_encode(points, "UTF-8").numpy().tolist()


def test_matrix_of_code_points_is_a_vector_of_texts() -> None:
    assert [b"ab", b"cd"] == tf.strings.unicode_encode([[97, 98], [99, 100]], "UTF-8").numpy().tolist()


@pytest.mark.parametrize(
    ("how", "points"),
    [({}, [97, 0xFFFD, 98]), ({"errors": "ignore"}, [97, 98]), ({"replacement_char": 63}, [97, 63, 98])],
)
def test_unreadable_bytes_are_replaced_or_left_out(how: dict[str, Any], points: list[int]) -> None:
    assert points == tf.strings.unicode_decode(b"a\xffb", "UTF-8", **how).numpy().tolist()


def test_control_characters_are_replaced_on_demand() -> None:
    decoded = tf.strings.unicode_decode(b"a\x01", "UTF-8", replace_control_characters=True)

    assert [97, 0xFFFD] == decoded.numpy().tolist()


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: tf.strings.unicode_decode(b"\xff", "UTF-8", errors="strict"), "Invalid formatting on input string"),
        (lambda: tf.strings.unicode_decode("a", "nope"), "Could not create converter for input encoding: nope"),
        (lambda: tf.strings.unicode_encode([0xD800], "UTF-8", errors="strict"), "Code point is out of range"),
        (lambda: tf.strings.unicode_encode([97], "latin"), "Value for attr 'output_encoding' of \"latin\" is not in"),
    ],
)
def test_unicode_errors_are_told(act: Any, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        act()

    assert text in str(caught.value)


def test_scalar_is_no_list_of_code_points() -> None:
    with pytest.raises(ValueError, match="rank must be at least 1"):
        tf.strings.unicode_encode(97, "UTF-8")


def test_texts_change_their_encoding() -> None:
    assert b"\x00a\x00\xe9" == tf.strings.unicode_transcode("aé", "UTF-8", "UTF-16-BE").numpy()


# Changing and measuring


def test_letters_beyond_ascii_change_with_an_encoding_only() -> None:
    texts = [tf.strings.lower("AÉ"), tf.strings.lower("AÉ", "utf-8"), tf.strings.upper("aß", "utf-8")]

    assert ["aÉ", "aé", "ASS"] == [text.numpy().decode() for text in texts]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"only utf-8 or '' \(no encoding\) is supported"):
        tf.strings.upper("a", encoding="ascii")


def test_lengths_are_bytes_or_characters() -> None:
    assert [3, 2] == [tf.strings.length("aé", unit=unit).numpy() for unit in ("BYTE", "UTF8_CHAR")]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Value for attr 'unit' of \"X\" is not in the list"):
        tf.strings.length("a", unit="X")


@pytest.mark.parametrize(
    ("pos", "length", "part"), [(1, 3, b"ell"), (-3, 2, b"ll"), (1, 30, b"ello"), (5, 1, b""), (1, -1, b"ello")]
)
def test_part_of_a_text_ends_with_the_text(pos: int, length: int, part: bytes) -> None:
    assert part == tf.strings.substr("hello", pos, length).numpy()


def test_part_counts_characters_on_demand_and_places_one_by_one() -> None:
    assert "é".encode() == tf.strings.substr("aéb", 1, 1, unit="UTF8_CHAR").numpy()
    assert [b"el", b"a"] == tf.strings.substr(["hello", "abc"], [1, 0], [2, 1]).numpy().tolist()


def test_part_that_begins_outside_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="pos 2 out of range for string b'a' at index 1"):
        tf.strings.substr(["hello", "a"], 2, 1)


@pytest.mark.parametrize(
    ("pattern", "rewrite", "text", "expected"),
    [
        ("l+", "L", "hello", b"heLo"),
        ("(h)(e)", r"\2\1", "hello", b"ehllo"),
        ("e", r"[\0]", "hello", b"h[e]llo"),
        ("", "-", "ab", b"-a-b-"),
        ("a*", "-", "baac", b"-b-c-"),
        (".", "x", "é", b"x"),
    ],
)
def test_patterns_are_rewritten(pattern: str, rewrite: str, text: str, expected: bytes) -> None:
    assert expected == tf.strings.regex_replace(text, pattern, rewrite).numpy()


def test_first_match_alone_is_rewritten_on_demand() -> None:
    assert b"heLlo" == tf.strings.regex_replace("hello", "l", "L", replace_global=False).numpy()


def test_full_match_covers_the_whole_text() -> None:
    assert [True, False] == tf.strings.regex_full_match(["hello", "oh"], "h.*").numpy().tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Invalid pattern: \(, error: missing \)"):
        tf.strings.regex_replace("a", "(", "")


# Numbers


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("1.5", "float32", 1.5),
        (" 2 ", "float64", 2.0),
        ("0x10", "float32", 16.0),
        ("-inf", "float32", -np.inf),
        ("-5", "int64", -5),
        ("2147483647", "int32", 2**31 - 1),
    ],
)
def test_texts_are_read_as_numbers(text: str, dtype: str, value: float) -> None:
    number = tf.strings.to_number(text, dtype)

    assert (value, dtype) == (number.numpy(), number.dtype.name)


@pytest.mark.parametrize(("text", "dtype"), [("abc", "float32"), ("", "float32"), ("1_0", "int32"), ("1.5", "int32")])
@pytest.mark.parametrize("more", ["", "0" * 20])
def test_texts_that_say_no_number_are_refused(text: str, dtype: str, more: str) -> None:
    text = f"{text}{more}" if dtype == "int32" else text
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.strings.to_number(text, dtype)

    assert f"StringToNumberOp could not correctly convert string: {text} " in str(caught.value)


@pytest.mark.parametrize("text", ["12.5", "x", "2147483648", ""])
def test_a_text_among_many_that_says_no_number_is_refused(text: str) -> None:
    texts = [str(number) for number in range(-200, 200)]

    assert [*range(-200, 200)] == tf.strings.to_number(texts, tf.int32).numpy().tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"correctly convert string: {text} "):
        tf.strings.to_number([*texts, text], tf.int32)


def test_numbers_of_other_dtypes_are_not_read() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Value for attr 'out_type' of uint8 is not in the list"):
        tf.strings.to_number("1", tf.uint8)


@pytest.mark.parametrize(
    ("value", "how", "text"),
    [
        (1, {}, b"1"),
        (1.5, {}, b"1.500000"),
        (3.14159, {"precision": 2}, b"3.14"),
        (1e10, {"scientific": True}, b"1.000000e+10"),
        (1e10, {"shortest": True}, b"1e+10"),
        (22, {"width": 4}, b"  22"),
        (22, {"width": 4, "fill": "0"}, b"0022"),
        (1.5, {"width": 9, "fill": "-"}, b"1.500000 "),
        (True, {}, b"true"),
        (1 + 2j, {}, b"(1.000000,2.000000)"),
        ("a", {}, b"a"),
    ],
)
def test_numbers_are_written(value: Any, how: dict[str, Any], text: bytes) -> None:
    assert text == tf.strings.as_string(value, **how).numpy()


def test_whole_numbers_have_no_digits_behind_the_point() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="precision not supported for datatype int32"):
        tf.strings.as_string(1, precision=2)


@pytest.mark.parametrize(
    ("value", "single", "text"),
    [
        (1.0, True, "1"),
        (float(np.float32(0.1)), True, "0.1"),
        (float(np.float32(1 / 3)), True, "0.333333343"),
        (1 / 3, False, "0.33333333333333331"),
        (1e10, True, "1e+10"),
        (-0.0, True, "-0"),
        (float("nan"), True, "nan"),
        (float("-inf"), False, "-inf"),
    ],
)
def test_shortest_spelling_reads_back(value: float, single: bool, text: str) -> None:
    assert text == short_float(value, single)


# Joining


def test_texts_at_the_same_place_are_joined() -> None:
    assert [b"a-c", b"b-d"] == tf.strings.join([["a", "b"], ["c", "d"]], separator="-").numpy().tolist()
    assert [b"ab", b"ac"] == tf.strings.join(["a", ["b", "c"]]).numpy().tolist()
    assert b"" == tf.strings.join([]).numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Input shapes do not match: \[2\] vs. \[1\]"):
        tf.strings.join([["a", "b"], ["c"]])


@pytest.mark.parametrize(
    ("axis", "expected"),
    [(None, b"abcd"), (0, [b"ac", b"bd"]), (-1, [b"ab", b"cd"]), ([0, 1], b"acbd"), ([1, 0], b"abcd")],
)
def test_texts_are_joined_over_axes_in_their_order(axis: Any, expected: Any) -> None:
    joined = tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=axis).numpy()

    assert expected == (joined if joined.__class__ is bytes else joined.tolist())


def test_joined_axes_are_kept_on_demand() -> None:
    joined = tf.strings.reduce_join([["a", "b"]], axis=1, keepdims=True, separator="+")

    assert [[b"a+b"]] == joined.numpy().tolist()
    with pytest.raises(tf.errors.OutOfRangeError, match="Invalid reduction dimension 3 for input with 1 dimension"):
        tf.strings.reduce_join(["a"], axis=3)


def test_values_are_put_into_a_text() -> None:
    text = tf.strings.format("x: {}, y: {}", (1, tf.constant([1.0, 2.5])))

    assert b"x: 1, y: [1 2.5]" == text.numpy()
    with pytest.raises(ValueError, match="The template expects 1 tensors, but the inputs only has 2"):
        tf.strings.format("{}", [1, 2])


# Ragged tensors, bytes, places


def test_ragged_texts_stay_ragged() -> None:
    ragged = tf.ragged.constant([["a"], ["b", "cc"]])

    upper: Any = tf.strings.upper(ragged)
    length: Any = tf.strings.length(ragged)

    assert [[b"A"], [b"B", b"CC"]] == upper.to_list()
    assert [[1], [1, 2]] == length.to_list()
    assert [[b"ax"], [b"bx", b"ccx"]] == tf.strings.join([ragged, "x"]).to_list()
    assert [b"a", b"b cc"] == tf.strings.reduce_join(ragged, axis=-1, separator=" ").numpy().tolist()


def test_bytes_are_read_as_numbers() -> None:
    assert [68, 117, 99, 107] == tf.io.decode_raw("Duck", tf.uint8).numpy().tolist()
    assert [[258], [772]] == tf.io.decode_raw(["\1\2", "\3\4"], tf.int16, little_endian=False).numpy().tolist()
    padded = tf.io.decode_raw(["ab", "c"], tf.uint8, fixed_length=3)
    assert [[97, 98, 0], [99, 0, 0]] == padded.numpy().tolist()


@pytest.mark.parametrize(
    ("texts", "dtype", "text"),
    [
        (["ab", "c"], tf.uint8, "all be the same size, but element 1 has size 2 != 1"),
        ("abc", tf.int16, "Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16"),
    ],
)
def test_bytes_that_make_no_numbers_are_refused(texts: Any, dtype: Any, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf.io.decode_raw(texts, dtype)


def test_texts_are_worked_on_by_the_cpu() -> None:
    with machine(1):
        text = tf.constant("Gray wolf")
        made = tf.strings.upper(text)

        assert ("GPU:0", "CPU:0", b"GRAY WOLF") == (text.device[-5:], made.device[-5:], made.numpy())


def test_names_that_are_not_there_are_told_with_those_that_are() -> None:
    with pytest.raises(AttributeError, match=r"'nbtf.strings' has no attribute 'unsorted_segment_join'") as caught:
        _ = tf.strings.unsorted_segment_join

    assert caught.value.__notes__[0].startswith("Available: as_string, bytes_")


# Patterns


PATTERNS = ["[aeiou]", "a*", "(a)(b)?", r"\bb", "x|y", ".", "(?i)B", "ä", r"\d+", "^a", "$", "(a|(b))"]
REWRITES = ["-", "", r"\1-", r"\0\0", r"\\", r"\n", "ä", r"<\2>"]


def one_by_one(text: bytes, regex: re.Pattern[str], rewrite: str, everywhere: bool) -> bytes:
    """Returns a text with matches replaced as RE2 does: without an empty match directly after another match."""
    subject = text.decode("utf-8", "surrogateescape")
    pieces: list[str] = []
    copied, end = 0, -1
    for match in regex.finditer(subject):
        if match.start() == match.end() == end:
            continue
        parts = re.split(r"\\([0-9\\])", rewrite)
        parts[1::2] = [match[int(part)] or "" if part.isdigit() else part for part in parts[1::2]]
        pieces += subject[copied : match.start()], *parts
        copied = end = match.end()
        if not everywhere:
            break
    return "".join([*pieces, subject[copied:]]).encode("utf-8", "surrogateescape")


@given(
    st.sampled_from(PATTERNS),
    st.sampled_from(REWRITES),
    st.booleans(),
    st.lists(st.text("abxyä1 B").map(str.encode) | st.binary(max_size=6), max_size=4),
)
def test_matches_are_written_as_they_are_one_by_one(
    pattern: str, rewrite: str, everywhere: bool, texts: list[bytes]
) -> None:
    regex = kernels.pattern(pattern.encode())
    assume(all(int(digit) <= regex.groups for digit in re.findall(r"\\([0-9])", rewrite)))

    for text in texts:
        assert one_by_one(text, regex, rewrite, everywhere) == kernels.replaced(text, regex, rewrite, everywhere)
        is_match = regex.fullmatch(text.decode("utf-8", "surrogateescape")) is not None
        assert is_match == kernels.full_match(pattern.encode())(text)
