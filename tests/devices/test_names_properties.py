"""What holds for every device string."""

import re

from hypothesis import given
from hypothesis import strategies as st

from nbtf._devices.names import SHORT_TYPES, DeviceSpec, full_name, parse, short_name

DOCUMENTED = re.compile(
    r"Unknown attribute '.*' is encountered while parsing the device spec: '.*'\."
    r"|Multiple device types are not allowed while parsing the device spec: .*\."
    r"|invalid literal for int\(\) with base 10: .*",
    re.DOTALL,
)

words = st.text(st.characters(exclude_characters="/:", exclude_categories=["Cs"]), max_size=5)
numbers = st.integers(-1, 10**20)
jobs = st.builds("job:{}".format, words)
replicas = st.builds("replica:{}".format, numbers)
tasks = st.builds("task:{}".format, numbers)
indices = numbers | st.just("*")
types = st.sampled_from(sorted(SHORT_TYPES)) | st.sampled_from(["cpu", "Gpu", "tPu"])
devices = types | st.builds("{}:{}".format, types, indices) | st.builds("device:{}:{}".format, words | types, indices)
valid = st.builds(
    lambda pieces, device, order: "/".join(order.sample([*pieces, *device], len(pieces) + len(device))),
    st.lists(jobs | replicas | tasks | st.just(""), max_size=4),
    st.lists(devices, max_size=1),
    st.randoms(use_true_random=False),
)
nearly = st.lists(st.sampled_from([*"/:*", "job", "task", "device", "GPU", "cpu", "0", "x", " "]), max_size=8).map(
    "".join
)

specs = st.builds(
    DeviceSpec,
    st.none() | words,
    st.none() | numbers,
    st.none() | numbers,
    st.none() | words | types,
    st.none() | numbers,
)


def problem_with(text: str) -> str | None:
    try:
        DeviceSpec.from_string(text)
    except ValueError as error:
        return str(error)
    return None


@given(st.text() | nearly | valid)
def test_any_text_is_a_spec_or_a_documented_error(text: str) -> None:
    problem = problem_with(text)

    assert problem is None or DOCUMENTED.fullmatch(problem)


@given(valid)
def test_every_sentence_of_the_grammar_parses(text: str) -> None:
    assert isinstance(DeviceSpec.from_string(text), DeviceSpec)


@given(valid)
def test_printing_what_was_parsed_says_the_same(text: str) -> None:
    assert parse(text) == parse(parse(text).to_string())


@given(specs)
def test_parsing_what_was_printed_gives_the_spec(spec: DeviceSpec) -> None:
    again = DeviceSpec.from_string(spec.to_string())

    assert spec == again
    assert hash(spec) == hash(again)


@given(specs)
def test_the_empty_spec_changes_nothing(spec: DeviceSpec) -> None:
    assert spec == spec.make_merged_spec(DeviceSpec()) == DeviceSpec().make_merged_spec(spec)


@given(specs)
def test_merging_a_spec_with_itself_changes_nothing(spec: DeviceSpec) -> None:
    assert spec == spec.make_merged_spec(spec)


@given(specs, specs, specs)
def test_it_does_not_matter_which_pair_merges_first(a: DeviceSpec, b: DeviceSpec, c: DeviceSpec) -> None:
    left = a.make_merged_spec(b).make_merged_spec(c)
    right = a.make_merged_spec(b.make_merged_spec(c))

    assert left == right


@given(specs, specs)
def test_the_inner_spec_wins(outer: DeviceSpec, inner: DeviceSpec) -> None:
    merged = outer.make_merged_spec(inner)

    for name in ("job", "replica", "task", "device_type", "device_index"):
        theirs = getattr(inner, name)
        assert (getattr(outer, name) if theirs is None else theirs) == getattr(merged, name)


@given(specs)
def test_replacing_nothing_changes_nothing(spec: DeviceSpec) -> None:
    assert spec == spec.replace()


@given(words.filter(bool), st.integers(0, 10**6))
def test_a_full_name_has_its_short_name(device_type: str, index: int) -> None:
    assert f"{device_type}:{index}" == short_name(full_name(device_type, index))
