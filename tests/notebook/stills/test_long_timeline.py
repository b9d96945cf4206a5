"""Does what a page gets of a long timeline add up to what ran, in every part, and stay small?"""

from __future__ import annotations

import random
from array import array
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest

from nbtf.notebook.stills import long_timeline
from nbtf.notebook.stills.long_timeline import LongTimeline
from nbtf.notebook.stills.marks import Boxes, Picture, Rectangle, Text, texts_of
from nbtf.notebook.stills.schedule import Exchange, Pieces, Schedule, Transfer, Work
from nbtf.notebook.stills.timeline import long_still, timeline
from nbtf.notebook.views.timeline_search import MatchRequest, found_in

LARGEST = 100_000
"""Bytes of an answer."""

Piece = tuple[int, bool, float, float, float]
"""Lane, whether it is a copy, start, end, and for which share of that time it is busy."""


def numbers(form: str, packed: str) -> list[float]:
    return [*map(float, array(form, b64decode(packed)))]


def long_schedule(seed: int, cards: int, pieces: int) -> Schedule:
    """Ops and copies on some cards, which do them in order; some are thousands of times as long as others."""
    draw = random.Random(seed)
    lanes = ("CPU:0", *(f"GPU:{number}" for number in range(cards)))
    free = dict.fromkeys(lanes, 0.0)
    ops: list[Work] = []
    copies: list[Transfer] = []
    for _ in range(pieces):
        seconds = draw.choice([1e-9, 1e-6, 3e-6, 1e-5, 1e-3 * draw.random() ** 8])
        target, source = draw.sample(lanes, 2)
        start = max(free[target], free[source]) + draw.choice([0.0, seconds])
        if draw.random() < 0.3:
            copies.append(Transfer(source, target, start, seconds, draw.choice([4, 900_000]), ""))
            free[source] = free[target] = start + seconds
            continue
        op, phase = draw.choice(["MatMul", "_EagerConst", "Sum"]), draw.choice(["forward", "backward", ""])
        ops.append(Work(target, start, seconds, op, phase, "", ("a.py", 1), None, None))
        free[target] = start + seconds
    exchanges = tuple(Exchange(copy.start, copy.end, 1, copy.nbytes) for copy in copies[:500])
    in_order = (
        Pieces.of(sorted(ops, key=lambda work: work.start)),
        Pieces.of(sorted(copies, key=lambda copy: copy.start)),
    )
    return Schedule("modelled", lanes, *in_order, exchanges, len(ops) + 7, len(copies))


def pieces_of(data: dict[str, Any]) -> Iterator[Piece]:
    """What a page makes of an answer."""
    starts, seconds = numbers("d", data["ops"]["start"]), numbers("d", data["ops"]["seconds"])
    lanes = [lane for lane, count in enumerate(data["counts"]) for _ in range(count)]
    for lane, start, length in zip(lanes, starts, seconds, strict=True):
        yield lane, False, start, start + length, 1.0
    forms = {"source": "H", "target": "H", "seq": "I"}
    columns = {name: numbers(forms.get(name, "d"), one) for name, one in data["copies"].items()}
    for source, target, start, length in zip(
        *(columns[n] for n in ("source", "target", "start", "seconds")), strict=True
    ):
        for lane in (int(source), int(target)):
            yield lane, True, start, start + length, 1.0
    for sums in data["sums"]:
        shares, width = numbers("H", sums["shares"]), sums["width"]
        for row, (lane, token) in enumerate(sums["rows"]):
            for column in range(sums["columns"]):
                start = sums["from"] + column * width
                yield lane, token == "cpyf", start, start + width, shares[row * sums["columns"] + column] / sums["unit"]


def pieces_that_ran(schedule: Schedule) -> Iterator[Piece]:
    for work in schedule.ops:
        yield schedule.lanes.index(work.device), False, work.start, work.end, 1.0
    for copy in schedule.copies:
        for device in (copy.source, copy.target):
            yield schedule.lanes.index(device), True, copy.start, copy.end, 1.0


def busy(pieces: Iterator[Piece], begin: float, end: float) -> dict[tuple[int, bool], float]:
    """The share of a part for which each lane had ops, and copies."""
    sums: dict[tuple[int, bool], float] = {}
    for lane, is_copy, start, stop, share in pieces:
        inside = max(0.0, min(stop, end) - max(start, begin)) * share / (end - begin)
        sums[lane, is_copy] = sums.get((lane, is_copy), 0.0) + inside
    return {key: share for key, share in sums.items() if share > 1e-6}


PARTS = [(0.0, 1.0), (0.0, 0.5), (0.31, 0.35), (0.5, 0.5002), (0.999, 1.0)]


@pytest.mark.parametrize("part", PARTS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_every_part_is_as_busy_as_the_devices_were(seed: int, part: tuple[float, float]) -> None:
    schedule = long_schedule(seed, 4, 8000)
    begin, end = (moment * schedule.seconds for moment in part)

    data = LongTimeline(schedule, lambda _: "a line").data(begin, end)

    for window in ((begin, end), (0.0, schedule.seconds)):
        ran, told = busy(pieces_that_ran(schedule), *window), busy(pieces_of(data), *window)
        assert {key: pytest.approx(share, abs=0.01) for key, share in ran.items()} == told


def test_short_part_has_each_op_and_copy_by_itself() -> None:
    schedule = long_schedule(7, 2, 5000)
    middle, some = schedule.seconds / 2, schedule.seconds / 1000

    data = LongTimeline(schedule, lambda _: "a line").data(middle, middle + some)

    works = [work for work in schedule.ops if work.start <= middle + some and work.end >= middle and not work.folded]
    starts = numbers("d", data["ops"]["start"])
    assert (len(works), 0) == (len(starts), data["detail"]["summed"])
    assert {work.start for work in works} == set(starts)


@pytest.mark.parametrize(("cards", "pieces"), [(1, 3000), (4, 20_000), (64, 20_000), (1024, 20_000)])
def test_answers_are_small(cards: int, pieces: int) -> None:
    timeline = LongTimeline(long_schedule(1, cards, pieces), lambda _: "cell 12, line 3: loss = model(x)")
    whole = timeline.data()["seconds"]

    answers = [timeline.data(begin * whole, end * whole) for begin, end in PARTS]

    parts_of = pytest.importorskip("nbtf.notebook.views.base_widget", reason="needs the lab extra").parts_of
    sizes = [sum(map(len, parts_of(answer))) for answer in answers]
    assert [] == [size for size in sizes if size > LARGEST]


@pytest.mark.parametrize("part", [(-5.0, -1.0), (1e9, 2e9), (1.0, 0.0), (float("nan"), 1.0)], ids=str)
def test_part_outside_is_an_answer_too(part: tuple[float, float]) -> None:
    schedule = long_schedule(2, 2, 3000)

    data = LongTimeline(schedule, lambda _: "").data(*part)

    assert schedule.seconds == data["seconds"]
    assert all(0 <= data["detail"][edge] <= schedule.seconds for edge in ("from", "to"))


def test_figures_of_all_are_those_of_the_schedule() -> None:
    schedule = long_schedule(3, 2, 4000)
    data = LongTimeline(schedule, lambda _: "").data()

    constants = sum(work.op == "_EagerConst" for work in schedule.ops)
    assert (schedule.executed, schedule.copied, schedule.unclocked) == (
        data["executed"],
        data["copied"],
        data["unclocked"],
    )
    assert constants == data["folded"]["constants"]
    assert long_timeline.MOST_EXCHANGES >= len(data["exchanges"])


def test_devices_in_sight_are_sent_and_the_mean_of_all() -> None:
    schedule = long_schedule(4, 64, 8000)
    whole = (0.0, schedule.seconds)

    data = LongTimeline(schedule, lambda _: "").data(*whole, lanes=[*range(40, 50)])

    ran, told = busy(pieces_that_ran(schedule), *whole), busy(pieces_of(data), *whole)
    in_sight = range(40, 50)
    assert [*in_sight] == data["detail"]["lanes"]
    assert {key: pytest.approx(share, abs=0.01) for key, share in ran.items() if key[0] in in_sight} == {
        key: share for key, share in told.items() if key[0] in in_sight
    }
    mean = data["mean"]
    shares = sum(numbers("H", mean["shares"])) / mean["unit"] / mean["columns"]
    assert pytest.approx(sum(share for (lane, _), share in ran.items() if lane) / 64, abs=0.01) == shares


@pytest.mark.parametrize("lanes", [[-5, 3], [1000], [60, 64, 65], [*range(10**4)], []], ids=len)
def test_devices_that_do_not_exist_are_an_answer_too(lanes: list[int]) -> None:
    data = LongTimeline(long_schedule(2, 64, 3000), lambda _: "").data(lanes=lanes)

    existing = [each for each in lanes if 0 <= each <= 64]
    assert existing[: long_timeline.ROWS_IN_SIGHT] == data["detail"]["lanes"]


WORDS = {"forward": "Vorwärts", "backward": "zurück", "copy": "Kopie"}
TEXTS = ["matmul", "MATMUL gpu:1", "vorwärts", "kopie", "kopie gpu:0 cpu", "line 7", "", "gpu:9", "eager"]


def fitting(schedule: Schedule, text: str) -> Iterator[Work | Transfer]:
    """The ops and copies that a reader means by a text."""
    for piece in [*schedule.ops, *schedule.copies]:
        if isinstance(piece, Work):
            said = f"{piece.op} {WORDS.get(piece.phase, '')} line 7 {piece.device}"
        else:
            said = f"{WORDS['copy']} {piece.source} {piece.target}"
        if all(word in said.lower() for word in text.lower().split()):
            yield piece


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("seed", range(3))
def test_search_goes_through_all_matches_in_order_and_in_a_circle(seed: int, text: str) -> None:
    schedule = long_schedule(seed, 2, 400)
    matches = [*fitting(schedule, text)]
    starts = sorted(match.start for match in matches if not match.folded)
    moment = schedule.seconds * random.Random(seed).random()

    def search(way: int, after: int | None) -> dict[str, Any]:
        return found_in(schedule, lambda _: "line 7", text, WORDS, MatchRequest(way, after, moment))

    first = search(1, None)
    assert (sum(isinstance(match, Work) for match in matches), len(schedule.ops)) == (first["fits"], first["all"])
    assert len(starts) == first["matches"]
    if not starts:
        assert "at" not in first
        return
    later = [start for start in starts if start >= moment]
    assert (later or starts)[0] == first["start"]
    assert starts[(first["at"] if later else 0) - 1] == search(-1, None)["start"]
    for way in (1, -1):
        found, at = list[tuple[Any, ...]](), None
        for _ in starts:
            match = search(way, at)
            at = match["at"]
            found.append((match["start"], match["seconds"], schedule.lanes[match["lane"]], match["copy"]))
        assert starts == sorted(start for start, *_ in found)
        assert {
            (
                piece.start,
                piece.seconds,
                piece.device if isinstance(piece, Work) else piece.target,
                isinstance(piece, Transfer),
            )
            for piece in matches
            if not piece.folded
        } == {*found}


def areas(picture: Picture) -> dict[str, float]:
    """The px that each colour covers in lanes and overview."""
    sums: dict[str, float] = {}
    for mark in picture.marks:
        boxes = mark.sides if isinstance(mark, Boxes) else ()
        if isinstance(mark, Rectangle) and mark.height in (20, 44):
            boxes = ((mark.x, mark.y, mark.width, mark.height),)
        if isinstance(mark, Boxes | Rectangle):
            sums[mark.fill] = sums.get(mark.fill, 0.0) + sum(width * height for _, _, width, height in boxes)
    return sums


@pytest.mark.parametrize("cards", [1, 4, 40])
@pytest.mark.parametrize("pieces", [900, 8000])
def test_a_long_recording_has_the_picture_of_all_its_pieces(cards: int, pieces: int) -> None:
    schedule = long_schedule(3, cards, pieces)

    expected = timeline(schedule)
    picture = long_still(LongTimeline(schedule, str))

    assert [text.words for text in foot_and_labels(expected)] == [text.words for text in foot_and_labels(picture)]
    assert expected.title == picture.title
    ground = sum(areas(expected).values())
    assert areas(picture) == pytest.approx(areas(expected), abs=0.01 * ground)
    assert underlines(expected) == underlines(picture)


def foot_and_labels(picture: Picture) -> list[Text]:
    """All texts but those in the blocks of ops and copies."""
    return [
        text for text in texts_of(picture.marks) if not (text.mono and text.weight == 600) and "on-" not in text.fill
    ]


def underlines(picture: Picture) -> list[Rectangle]:
    """The lines below groups of ops."""
    return [mark for mark in picture.marks if isinstance(mark, Rectangle) and mark.height == 3]
