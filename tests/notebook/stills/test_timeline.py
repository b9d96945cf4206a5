"""Does the timeline draw what ran, as long as it lasted, with figures that are those of the recording?"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from pkgutil import walk_packages
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf import _ops
from nbtf._ops.collectives import all_reduce
from nbtf._ops.op import OPS
from nbtf._record.queries import work_of_events
from nbtf.notebook import catalogue
from nbtf.notebook.stills.marks import Boxes, Group, Mark, Path, Picture, Rectangle, texts_of
from nbtf.notebook.stills.op_colours import family_of
from nbtf.notebook.stills.palette import FILLS
from nbtf.notebook.stills.quantities import bytes_in_words, seconds_in_words
from nbtf.notebook.stills.schedule import Exchange, Pieces, Schedule, Trace, Transfer, Work, schedule_of, timed
from nbtf.notebook.stills.svg import to_svg
from nbtf.notebook.stills.timeline import timeline
from tests.machines import cluster, machine, worker
from tests.notebook.conftest import Shell
from tests.notebook.stills.engine import evaluated
from tests.notebook.stills.longer_texts import lengthened, longer_texts
from tests.rings import with_nightly

WORDS = catalogue.words("timeline")
CARDS = [f"GPU:{number}" for number in range(4)]


def recorded_step() -> tf.runtime.Recording:
    """One step of a network on four replicas."""
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        layers = [tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(10)]
        model = tf.keras.Sequential([tf.keras.layers.Input([784]), *layers])
        model.compile(optimizer="adam", loss="mse")
    x, y = np.ones((1024, 784), "float32"), np.ones((1024, 10), "float32")
    model.train_on_batch(x, y)
    with tf.runtime.recording() as record:
        model.train_on_batch(x, y)
    return record


def recorded_lines() -> tf.runtime.Recording:
    """Ops without phases, on two cards; many are short."""
    with tf.runtime.recording() as record:
        with tf.device("GPU:0"):
            a = tf.random.normal([256, 256])
            for _ in range(40):
                a = tf.matmul(a, a) + 1.0
        with tf.device("GPU:1"):
            tf.reduce_sum(a)
    return record


def recorded_host() -> tf.runtime.Recording:
    """Ops whose time is measured."""
    with tf.runtime.recording() as record, tf.device("CPU:0"):
        tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))
    return record


def recorded_traces() -> tf.runtime.Recording:
    """A function that is traced six times, twice with no time between."""

    @tf.function
    def product(x: Any, factor: Any) -> Any:
        return tf.matmul(x, x) * factor

    small, large = tf.ones([64, 64]), tf.ones([256, 256])
    with tf.runtime.recording() as record, tf.device("GPU:0"):
        for x, factor in ((small, 1), (large, 1), (small, 1), (large, 2), (small, 2), (small, 3)):
            product(x, factor)
        product.get_concrete_function(small, 4)
    return record


RECORDED = {"step": recorded_step, "lines": recorded_lines, "host": recorded_host, "traces": recorded_traces}


@pytest.fixture(scope="module")
def records() -> Iterator[dict[str, tf.runtime.Recording]]:
    """All recordings, on four simulated cards."""
    with machine(4, model="Tesla K20m"):
        yield {name: record() for name, record in RECORDED.items()}


@pytest.fixture(params=list(RECORDED))
def record(request: pytest.FixtureRequest, records: dict[str, tf.runtime.Recording]) -> tf.runtime.Recording:
    """Each of the recordings."""
    return records[request.param]


def scheduled(record: tf.runtime.Recording) -> Schedule:
    return timed(record.snapshot())


def drawn(record: tf.runtime.Recording, width: float = 960.0) -> Picture:
    return timeline(scheduled(record), width, lambda site: f"line {site[1]}" if site else "")


def flat(marks: tuple[Mark, ...]) -> list[Mark]:
    """All marks, those of groups and boxes one by one."""
    return [inner for mark in marks for inner in (flat(mark.marks) if isinstance(mark, Group) else single(mark))]


def single(mark: Mark) -> list[Mark]:
    return [Rectangle(*sides, mark.fill) for sides in mark.sides] if isinstance(mark, Boxes) else [mark]


def pieces(picture: Picture, lane: str) -> list[Rectangle]:
    """What is drawn in a lane: rectangles between its upper and its lower edge."""
    rectangles = [mark for mark in flat(picture.marks) if isinstance(mark, Rectangle)]
    grounds = [mark for mark in rectangles if mark.fill == "tint" and mark.radius == 3]
    ground = grounds[lanes_of(picture).index(lane)]
    inside = (mark for mark in rectangles if ground.y - 0.1 <= mark.y and mark.y + mark.height <= ground.y + 44.1)
    return [mark for mark in inside if mark.fill in FILLS]


def rectangles(marks: Iterable[Mark]) -> list[Rectangle]:
    return [mark for mark in flat(tuple(marks)) if isinstance(mark, Rectangle)]


def lanes_of(picture: Picture) -> list[str]:
    return [
        text.words.split()[0]
        for text in texts_of(picture.marks)
        if text.weight == 650 and text.size == 13 and not text.mono
    ]


def lasts(schedule: Schedule, seconds: float, picture: Picture) -> float:
    """How many px some seconds have."""
    ground = next(mark for mark in flat(picture.marks) if isinstance(mark, Rectangle) and mark.fill == "tint")
    return seconds / schedule.seconds * ground.width


def on_clock(record: tf.runtime.Recording) -> list[Any]:
    """The events whose time is modelled."""
    return [event for event in record.events if getattr(event, "start", None) is not None]


def seconds_on(record: tf.runtime.Recording, lane: str) -> tuple[float, float]:
    """Modelled seconds of a device's ops and copies, from the events alone."""
    stamped = on_clock(record)
    ops = [
        e.seconds for e in stamped if isinstance(e, tf.runtime.OpExecuted) and lane == tf.runtime.short_name(e.device)
    ]
    copies = [
        e.seconds
        for e in stamped
        if isinstance(e, tf.runtime.Copied) and lane in map(tf.runtime.short_name, (e.source, e.target))
    ]
    return sum(ops), sum(copies)


@pytest.mark.parametrize("width", [640, 960, 1600])
@pytest.mark.parametrize("name", ["step", "lines"])
def test_blocks_of_a_lane_are_as_long_as_its_ops_lasted(
    records: dict[str, tf.runtime.Recording], name: str, width: int
) -> None:
    record, picture = records[name], drawn(records[name], width)
    schedule = scheduled(record)
    for lane in schedule.lanes[1:]:
        areas = Counter[bool]()
        for piece in pieces(picture, lane):
            areas[piece.fill == "cpyf"] += round(piece.width * piece.height)
        expected = [lasts(schedule, seconds, picture) for seconds in seconds_on(record, lane)]

        assert expected == [pytest.approx(areas[copies] / 44, abs=1) for copies in (False, True)], lane


def test_copies_of_a_link_are_as_wide_as_they_are_big(records: dict[str, tf.runtime.Recording]) -> None:
    schedule, picture = scheduled(records["step"]), drawn(records["step"])
    big = [copy for copy in schedule.copies if not copy.folded]
    for lane in CARDS:
        lengths = [lasts(schedule, copy.seconds, picture) for copy in big if lane in (copy.source, copy.target)]
        expected = sorted(length for length in lengths if length > 2)
        widths = sorted(piece.width for piece in pieces(picture, lane) if piece.stroke == "cpy")

        assert widths == [pytest.approx(width, abs=1) for width in expected]
        assert len(widths) > 1


def test_figures_are_those_of_the_recording(records: dict[str, tf.runtime.Recording]) -> None:
    record, picture = records["step"], drawn(records["step"])
    said = [text.words for text in texts_of(picture.marks)]
    stamped = on_clock(record)
    moves: list[Any] = [
        event for event in stamped if isinstance(event, tf.runtime.Copied) and event.phase == "all-reduce"
    ]
    whole = max(event.start + event.seconds for event in stamped) - min(event.start for event in stamped)
    between = max(move.start + move.seconds for move in moves) - min(move.start for move in moves)
    percent = round(100 * between / whole)

    nbytes = bytes_in_words(sum(move.nbytes for move in moves))
    assert f"all-reduce: {len(moves)} copies, {nbytes}, {percent} % of the step" in said
    for lane in CARDS:
        ops, copies = (round(100 * seconds / whole) for seconds in seconds_on(record, lane))
        assert said[said.index(lane) + 1 :][:2] == [f"ops {ops} %", f"copies {copies} %"]
    executed = [event for event in record.events if isinstance(event, tf.runtime.OpExecuted)]
    copied = [event for event in record.events if isinstance(event, tf.runtime.Copied)]
    assert f"{len(executed):,} ops, {len(copied):,} copies" in said
    assert f"Recording: {len(executed):,} ops, {len(copied):,} copies" == repr(record)
    assert f"{seconds_in_words(whole)}, modelled" in said


def test_what_has_no_mark_of_its_own_is_counted(records: dict[str, tf.runtime.Recording]) -> None:
    record = records["step"]
    stamped = on_clock(record)
    executed = [event for event in stamped if isinstance(event, tf.runtime.OpExecuted)]
    constants = sum(event.op == "_EagerConst" for event in executed)
    short = sum(event.op != "_EagerConst" and event.seconds < 20e-9 for event in executed)
    small = sum(isinstance(event, tf.runtime.Copied) and event.nbytes < 4096 for event in stamped)

    expected = f"folded: {constants} constants, {small} copies < 4 KiB, {short} ops < 20 ns"
    assert expected in [text.words for text in texts_of(drawn(record).marks)]
    assert min(constants, small, short) > 0


@pytest.mark.parametrize("width", [480, 640, 960])
def test_no_text_stands_on_another_or_outside(record: tf.runtime.Recording, width: int) -> None:
    for texts in (nullcontext(), longer_texts("timeline")):
        with texts:
            assert ([], []) == misplaced(drawn(record, width))


def misplaced(picture: Picture) -> tuple[list[str], list[tuple[str, str]]]:
    """The texts outside of a picture, and the pairs of texts that overlap."""
    texts = [text for text in texts_of(picture.marks) if text.words]

    outside = [t.words for t in texts if t.begin < 0 or t.begin + t.width > picture.width or t.y > picture.height - 4]
    both = [
        (one.words, other.words)
        for index, one in enumerate(texts)
        for other in texts[index + 1 :]
        if abs(one.y - other.y) < 10 and one.begin < other.begin + other.width and other.begin < one.begin + one.width
    ]
    return outside, both


@pytest.mark.parametrize("language", catalogue.LANGUAGES)
def test_other_languages_fit(record: tf.runtime.Recording, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, language)
    picture = drawn(record, 640)

    assert catalogue.words("timeline")["title"] in [text.words for text in texts_of(picture.marks)]
    assert ([], []) == misplaced(picture)


def test_svg_is_small_and_says_the_shares(record: tf.runtime.Recording) -> None:
    svg = to_svg(drawn(record))
    root = ElementTree.fromstring(svg)

    assert len(svg) < 100_000
    assert root.get("aria-label", "").startswith("Where the time went: ")


@pytest.mark.parametrize("width", [480, 640, 960])
def test_words_of_honesty_are_never_cut(records: dict[str, tf.runtime.Recording], width: int) -> None:
    with longer_texts("timeline"):
        said = " ".join(text.words for text in texts_of(drawn(records["step"], width).marks))

    assert lengthened(WORDS["simulated"]) in said
    assert re.search(catalogue.filled(lengthened(WORDS["folded"]), constants=r"\d+", copies=r"\d+", ops=r"\d+"), said)
    assert "…" not in said


def test_copies_without_a_length_are_no_error() -> None:
    at: dict[str, Any] = {"seq": 0, "time": 0.0, "phase": "all-reduce", "start": 0.0}
    copy = tf.runtime.Copied("GPU:0", "CPU:0", 5000, 0.0, True, "move", **at)

    assert "0 ns, modelled" in [text.words for text in texts_of(timeline(schedule_of(work_of_events([copy]))).marks)]


def test_modelled_and_measured_times_are_never_mixed(records: dict[str, tf.runtime.Recording]) -> None:
    said = {name: " ".join(text.words for text in texts_of(drawn(record).marks)) for name, record in records.items()}

    assert "simulated: times modelled, bytes exact" in said["step"]
    assert "times measured, bytes exact" in said["host"]
    assert "modelled" not in said["host"]
    assert re.search(r"\d measured ops and copies are not on this time axis", said["step"])


def test_without_phases_groups_are_lines_of_the_program(records: dict[str, tf.runtime.Recording]) -> None:
    said = [text.words for text in texts_of(drawn(records["lines"]).marks)]

    assert {"products", "reductions", "random numbers", "elementwise"} <= {*said}
    assert any(re.fullmatch(r"line \d+", words) for words in said)


OPS_OF_FAMILIES = {
    "products": """aten::linear aten::addmm aten::bmm aten::matmul aten::convolution aten::cudnn_convolution
        AddmmBackward0 MmBackward0 ConvolutionBackward0 ScaledDotProductEfficientAttentionBackward0
        ampere_sgemm_128x64_nn sm90_xmma_gemm_bf16 cutlass_80_tensorop
        implicit_convolve_sgemm aten::_scaled_dot_product_flash_attention""",
    "reductions": """aten::sum aten::mean aten::max_pool2d aten::nll_loss_nd aten::cross_entropy_loss SumBackward1
        NllLossBackward0""",
    "randoms": "aten::dropout aten::native_dropout aten::randn NativeDropoutBackward0",
    "norms": """aten::softmax aten::_log_softmax aten::layer_norm aten::native_layer_norm aten::native_batch_norm
        NativeLayerNormBackward0 LogSoftmaxBackward0 SoftmaxBackward0 bn_fw_tr_1C11_kernel_NCHW""",
    "copying": """aten::copy_ aten::to aten::clone aten::contiguous aten::cat Memset ToCopyBackward0 CatBackward0
        nchwToNhwcKernel""",
    "elementwise": """aten::add aten::add_ aten::mul aten::gelu aten::relu aten::threshold_backward
        aten::_foreach_addcdiv_ aten::silu aten::zero_ GeluBackward0 ReluBackward0 AddBackward0
        MulBackward0 triton_poi_fused_add_0""",
    "other": """aten::view aten::item aten::transpose aten::embedding aten::index ncclDevKernel_AllReduce_Sum
        ncclDevKernel_SendRecv Transpose GatherV2""",
}
KERNELS_OF_FAMILIES = {
    "products": [
        "void cutlass::Kernel2<cutlass_80_simt_sgemm>(T1::Params)",
        "std::enable_if<!T7, void>::type internal::gemvx::kernel<int>",
    ],
    "reductions": ["void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>"],
    "randoms": ["void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>"],
    "norms": [
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4>",
        "void (anonymous namespace)::softmax_warp_forward<float>",
    ],
    "copying": [
        "void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>",
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>",
    ],
    "elementwise": [
        "void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor, std::allocator<std::mean>>"
    ],
}


@pytest.mark.parametrize("family", list(OPS_OF_FAMILIES))
def test_ops_and_kernels_of_profilers_have_a_family(family: str) -> None:
    names = [*OPS_OF_FAMILIES[family].split(), *KERNELS_OF_FAMILIES.get(family, ())]

    assert {name: family for name in names} == {name: family_of(name) for name in names}


FAMILIES_OF_MODULES = {
    "products": "linalg.einsum nn.convolution nn.convolution_3d nn.depthwise_convolution",
    "reductions": "reductions.extreme_indices reductions.sums reductions.truth math.segments math.unsorted_segments"
    " math.cumulative nn.pooling nn.pooling_3d nn.losses linalg.norms",
    "randoms": "random.streams random.stateless random.categorical random.binomial random.generator_state",
    "norms": "nn.softmax nn.local_response",
    "elementwise": "math.comparison math.complex_numbers math.division math.exponentials math.inverse_error math.logic"
    " math.magnitude math.rounding math.special math.trigonometry nn.layers",
    "other": "strings.texts strings.joining io.files lookup.contents arrays.gathering variables.resource_parts",
}
"""The modules of `nbtf/_ops` whose ops all belong to one family."""


def ops_by_module() -> dict[str, list[str]]:
    """The ops that nbtf knows, by the module that defines them."""
    for module in walk_packages(_ops.__path__, f"{_ops.__name__}."):
        import_module(module.name)
    modules: dict[str, list[str]] = {}
    for name, op in OPS.items():
        modules.setdefault(str(op.origin[0]).removeprefix(f"{_ops.__name__}."), []).append(name)
    return modules


def test_all_ops_that_nbtf_knows_have_the_family_of_their_module() -> None:
    modules = ops_by_module()
    expected = {
        name: family
        for family, those in FAMILIES_OF_MODULES.items()
        for each in those.split()
        for name in modules[each]
    }

    assert len(expected) > 150
    assert expected == {name: family_of(name) for name in expected}


@pytest.mark.parametrize("version", ["", "V2", "V3"])
def test_versions_and_gradients_of_an_op_have_its_family(version: str) -> None:
    ops = [name for names in ops_by_module().values() for name in names if not name[-1].isdigit()]
    families = {name: family_of(name) for name in ops}

    assert families == {name: family_of(name + version) for name in ops}
    activations = [name for name in families if name.endswith("Grad") and name.removesuffix("Grad") in families]
    assert len(activations) > 8
    assert [] == [name for name in activations if families[name] != families[name.removesuffix("Grad")]]


TOKENS = sorted(FILLS)


def stacked(works: Iterable[tuple[float, float, str]], width: float, y: float, height: float) -> list[Rectangle]:
    """The columns of pieces between 0 and 1 s, each with start, end and token, in a lane that begins at 100 px."""
    pieces = [[start, end, TOKENS.index(token)] for start, end, token in works]
    scale = f"timeScale(100, {100 + width}, 0, 1)"
    boxes = evaluated(
        "time_scale",
        f"((busy) => ({json.dumps(pieces)}.forEach((piece) => busy.add(...piece)), busy.boxes()))"
        f"(stack({scale}, {y}, {height}, 1, {json.dumps(TOKENS)}))",
    )
    return [Rectangle(x, y, width, height, each["fill"]) for each in boxes for x, y, width, height in each["sides"]]


def test_overlapping_pieces_of_several_colours_stay_in_their_lane() -> None:
    columns = stacked([(0.0, 1.0, token) for token in ("fwd", "bwd", "cpyf")], 30, 100.0, 24.0)

    assert [8.0, 8.0, 8.0] == [column.height for column in columns]
    assert 100.0 == min(column.y for column in columns)


def test_many_short_ops_have_no_marks_of_their_own() -> None:
    columns = stacked([(at / 20_000, (at + 0.5) / 20_000, "fwd") for at in range(20_000)], 800, 0, 44)

    assert len(columns) < 20
    assert sum(column.width * column.height for column in columns) == pytest.approx(400 * 44, rel=0.01)


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from(TOKENS)), max_size=40))
def test_stacked_columns_have_the_area_of_their_pieces(cuts: list[tuple[float, str]]) -> None:
    edges = sorted([0.0, 1.0, *(cut for cut, _ in cuts)])
    works = [(begin, end, token) for begin, end, (_, token) in zip(edges, edges[1:], cuts, strict=False)]

    columns = stacked(works, 100, 10, 40)

    for token in TOKENS:
        expected = sum(100 * (end - begin) for begin, end, other in works if other == token)
        area = sum(column.width * column.height for column in columns if column.fill == token)
        assert area / 40 == pytest.approx(expected, abs=1)
    assert all(10 - 1 <= column.y and column.y + column.height <= 50.01 for column in columns)


def test_long_recordings_have_small_pictures() -> None:
    """Many ops of all lengths on four cards that hand on what they have."""
    random = np.random.default_rng(0)
    events: list[Any] = []
    free = dict.fromkeys(CARDS, 0.0)
    for number in range(20_000):
        device, target = CARDS[number % 4], CARDS[(number + 1) % 4]
        seconds, phase = float(random.exponential(1e-5)), ("forward", "backward", "update", "")[number % 7 % 4]
        common: dict[str, Any] = {"seq": number, "time": 0.0, "phase": phase}
        if number % 10:
            start = free[device]
            events.append(tf.runtime.OpExecuted("Op", device, (), seconds, "modelled", start=start, **common))
        else:
            start = free[target] = max(free[device], free[target])
            events.append(tf.runtime.Copied(device, target, 9000, seconds, True, "move", start=start, **common))
            free[target] += seconds
        free[device] = start + seconds

    picture = timeline(schedule_of(work_of_events(events)))
    assert len(to_svg(picture)) < 100_000
    stacks: dict[tuple[float, float], list[Rectangle]] = {}
    for lane in CARDS:
        for piece in pieces(picture, lane):
            stacks.setdefault((piece.x, piece.width), []).append(piece)
    hidden = [
        (low, high)
        for stack in stacks.values()
        for high, low in pairwise(sorted(stack, key=lambda piece: piece.y))
        if high.y + high.height > low.y + 0.01
    ]
    assert [] == hidden


def random_schedule(seed: int) -> Schedule:
    """Ops and copies of any length on some devices, which do them in order; few and many."""
    draw = random.Random(seed)
    lanes = ("CPU:0", *(f"GPU:{number}" for number in range(draw.choice([0, 1, 2, 5, 18]))))
    phases = draw.choice(
        [[""], ["", "wait"], ["", "wait", "forward", "backward", "update", "input", "metrics", "all-reduce"]]
    )
    free = dict.fromkeys(lanes, 0.0)
    ops: list[Work] = []
    copies: list[Transfer] = []
    for _ in range(draw.choice([0, 1, 40, 1500])):
        seconds = draw.choice([0.0, 1e-9, 1e-6, 3e-6, 1e-4, draw.random() * 1e-3])
        target, source = draw.choice(lanes), draw.choice(lanes)
        start = max(free[target], free[source]) + draw.choice([0.0, 0.0, seconds])
        phase = draw.choice(phases)
        if source != target and draw.random() < 0.2:
            copies.append(Transfer(source, target, start, seconds, draw.choice([4, 4096, 900_000]), phase))
            free[source] = free[target] = start + seconds
            continue
        output = draw.choice([None, tf.runtime.OutputSpec((draw.randrange(5000), 3), "float32", 12)])
        op, layer = draw.choice(["MatMul", "_EagerConst", "Sum", "行列<積>"]), draw.choice(["", "dense"])
        site = draw.choice([None, ("train.py", draw.randrange(4))])
        ops.append(Work(target, start, seconds, op, phase, layer, site, output, None))
        free[target] = start + seconds
    exchanges = tuple(Exchange(copy.start, copy.end, 1, copy.nbytes) for copy in copies[:3])
    ops.sort(key=lambda work: work.start)
    copies.sort(key=lambda copy: copy.start)
    clock = draw.choice(["modelled", "measured"])
    columns, cut = (Pieces.of(ops), Pieces.of(copies)), draw.choice([0, 5000])
    return Schedule(clock, lanes, *columns, exchanges, len(ops) + 7, len(copies), cut, random_traces(draw, ops))


def random_traces(draw: random.Random, ops: list[Work]) -> tuple[Trace, ...]:
    """Traces before some of the ops, several of them at once."""
    starts = sorted(draw.choice(ops).start for _ in range(draw.choice([0, 1, 6, 40]) if ops else 0))
    news = (("x", "float32[3, 2]", "float32[2]"), ("<b>", "'名前'", "None"))
    causes = {"first": 0, "variables": 0, "replica": 0, "failure": 0, "arguments": draw.choice([1, 2])}
    names = ["step", "訓練の一歩"]
    return tuple(
        Trace(start, draw.choice(names), cause, news[: causes[cause]], None)
        for start, cause in zip(starts, draw.choices([*causes], k=len(starts)), strict=True)
    )


@pytest.mark.parametrize("seeds", with_nightly([range(20)], [range(20, 200)]), ids=str)
def test_any_schedule_is_drawn_within_the_lanes(seeds: range) -> None:
    drawn_lanes = 0
    for seed in seeds:
        schedule = random_schedule(seed)
        picture = timeline(schedule, 960, lambda site: f"{site[0]}, line {site[1]}: loss = model(x)" if site else "")

        marks = rectangles(picture.marks)
        grounds = [mark for mark in marks if mark.fill == "tint" and mark.radius == 3]
        drawn_lanes += len(grounds)
        assert len(grounds) == min(len(schedule.lanes), 16)
        columns = [
            Rectangle(*side, each.fill) for each in picture.marks if isinstance(each, Boxes) for side in each.sides
        ]
        for mark in columns:
            assert grounds[0].x - 0.1 <= mark.x
            assert mark.x + mark.width <= grounds[0].x + grounds[0].width + 0.1
        below = [mark for mark in columns if mark.y >= grounds[0].y - 0.1]
        outside = [mark for mark in below if not any(contains(ground, mark) for ground in grounds)]
        assert [] == outside
        assert ([], []) == misplaced(replace(picture, marks=tuple(fixed_texts(picture))))
    assert drawn_lanes > 40


def contains(ground: Rectangle, mark: Rectangle) -> bool:
    return ground.y - 0.1 <= mark.y and mark.y + mark.height <= ground.y + ground.height + 0.1


def fixed_texts(picture: Picture) -> list[Mark]:
    """The labels of lanes and of the axis, and all texts of the foot."""
    return [text for text in texts_of(picture.marks) if text.x < 100 or text.fixed or text.y > picture.height - 60]


def test_empty_recording_has_a_picture() -> None:
    picture = timeline(schedule_of(work_of_events([]), cut=12))

    assert "the first 12 events are no longer kept" in [text.words for text in texts_of(picture.marks)]
    ElementTree.fromstring(to_svg(picture))


def test_cell_that_ends_with_a_recording_shows_its_timeline(shell: Shell) -> None:
    ran = shell.run(
        "with tf.runtime.recording() as record:",
        "    c = tf.matmul(tf.ones([256, 256]), tf.ones([256, 256]))",
        "record",
    )
    data, _ = shell.ip.display_formatter.format(ran.result)

    assert ran.error is None
    assert re.search("MatMul.*line 2", data["image/svg+xml"])
    assert repr(ran.result) == data["text/plain"]
    for figure in re.findall(r"\d+ \w+", data["text/plain"]):
        assert figure in data["image/svg+xml"]


def test_recording_in_which_nothing_ran_is_text(shell: Shell) -> None:
    ran = shell.run("with tf.runtime.recording() as record: pass", "record")

    assert {"text/plain": "Recording: 0 ops, 0 copies"} == shell.ip.display_formatter.format(ran.result)[0]


def test_without_the_extension_a_recording_draws_itself(shell: Shell) -> None:
    ran = shell.run("with tf.runtime.recording() as record: tf.add([1.0], [2.0])", "record")
    tf.unload_ipython_extension(shell.ip)

    assert {"image/svg+xml", "text/plain"} == set(shell.ip.display_formatter.format(ran.result)[0])


# Traces


def flags(picture: Picture) -> list[Group]:
    """The flags of traces: their first mark is a triangle."""
    groups = [mark for mark in picture.marks if isinstance(mark, Group)]
    return [group for group in groups if isinstance(group.marks[0], Path) and len(group.marks[0].points) == 3]


def test_traces_have_flags_where_the_next_op_starts(records: dict[str, tf.runtime.Recording]) -> None:
    picture, schedule = drawn(records["traces"]), scheduled(records["traces"])
    scale_begin, scale_end = next(
        (mark.x, mark.x + mark.width) for mark in picture.marks if isinstance(mark, Rectangle) and mark.radius == 4
    )
    starts = [trace.start for trace in schedule.traces]
    points = [cast("Path", group.marks[0]).points[2][0] for group in flags(picture)]

    assert 6 == len(points)
    assert starts == sorted(starts)
    share = [start / schedule.seconds for start in starts]
    assert points == pytest.approx([scale_begin + (scale_end - scale_begin) * part for part in share], abs=1)
    assert starts[-1] == schedule.seconds  # nothing ran behind it


def test_titles_and_foot_say_what_was_new(records: dict[str, tf.runtime.Recording]) -> None:
    picture = drawn(records["traces"])
    titles = [group.title for group in flags(picture)]
    texts = [text.words for text in texts_of(picture.marks)]

    assert titles == [
        "product traced",
        "product traced again: x is float32[256, 256] and was float32[64, 64]",
        "product traced again: factor is 2 and was 1",
        "product traced again: x is float32[64, 64] and was float32[256, 256]",
        "product traced again: factor is 3 and was 2",
        "product traced again: factor is 4 and was 3",
    ]
    assert set(titles[1:4]) <= set(texts)
    assert not set(titles[4:]) & set(texts)
    assert "2 more traces" in texts


@pytest.mark.parametrize("width", [480, 960, 1600])
def test_names_of_flags_never_run_into_each_other(records: dict[str, tf.runtime.Recording], width: int) -> None:
    marks = [group.marks for group in flags(drawn(records["traces"], width))]
    spans = [(text.begin, text.begin + text.width) for _, *names in marks for text in texts_of(tuple(names))]
    tips = [cast("Path", flag).points[2][0] for flag, *_ in marks]

    assert spans
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    assert not [tip for tip in tips for begin, end in spans if begin < tip < end]


def test_recordings_without_traces_have_no_row_for_them(records: dict[str, tf.runtime.Recording]) -> None:
    assert [] == flags(drawn(records["lines"]))


def test_what_a_card_sends_while_it_gets_something_counts_once() -> None:
    gpus = [worker(task, "GPU:0") for task in range(3)]
    with cluster(3, 1):
        tensors: list[Any] = []
        for name in gpus:
            with tf.device(name):
                tensors.append(tf.zeros([1 << 18]))
        with tf.runtime.recording() as record:
            all_reduce(tensors, gpus, "ring")
    texts = [text.words for text in texts_of(timeline(scheduled(record), 960).marks)]

    assert ["worker/0 GPU:0", "worker/1 GPU:0", "worker/2 GPU:0"] == [words for words in texts if "GPU" in words][:3]
    assert ["copies 100 %"] * 3 == [words for words in texts if words.startswith("copies ")]
