"""The part of a prediction's report that compares it with a memory snapshot of real cards, in the user's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbtf._runtime.phases import BACKWARD, FORWARD, INPUT, UPDATE
from nbtf._snapshots.holders import BEFORE, NO_STACK
from nbtf.notebook import catalogue
from nbtf.notebook.catalogue import filled
from nbtf.notebook.prediction.comparison import BOTH, MEASURED_ONLY, OTHER_PHASE, PREDICTED_ONLY
from nbtf.notebook.prediction.file_matches import LINES, NAME, ORDER, TEXT
from nbtf.notebook.prediction.pairing import NOT_PREDICTED, ON_A_STREAM
from nbtf.notebook.prediction.peak_pieces import NO_LINE
from nbtf.notebook.tables import Column, Table, size, text
from nbtf.runtime import exact

_FEW = 0.1
"""A share of the measured bytes below which hardly anything agrees."""
_SHOWN_ROWS = 20
_SHOWN_FILES = 3

Data = Mapping[str, Any]


def sections(comparison: Data) -> list[str | Table]:
    """Returns the sections of a report about what `Comparison.to_dict` returned."""
    report = _Report(comparison)
    return [*report.devices(), *filter(None, [report.files()]), report.end()]


class _Report:
    """The texts of one comparison."""

    def __init__(self, comparison: Data) -> None:
        self._comparison = comparison
        words = self._words = catalogue.words("compare")
        of_snapshot, phases = catalogue.words("snapshot"), catalogue.words("timeline")
        self._limits = of_snapshot
        self._names = {
            BOTH: words["both"],
            PREDICTED_ONLY: words["onlyPredicted"],
            MEASURED_ONLY: words["onlyMeasured"],
            BEFORE: of_snapshot["before"],
            NO_STACK: of_snapshot["noStack"],
            NO_LINE: words["noLine"],
            NOT_PREDICTED: words["notPredicted"],
            ON_A_STREAM: words["onStream"],
            **{name: phases[name] for name in (FORWARD, BACKWARD, UPDATE, INPUT, OTHER_PHASE)},
        }

    def devices(self) -> Iterator[str | Table]:
        """Yields the sections about each device."""
        for compared in self._comparison["devices"]:
            yield self._head(compared)
            yield Table(self._columns_of_rows(), compared["rows"], self._notes_on_rows(compared), limit=_SHOWN_ROWS)
            yield Table(self._columns_of_phases(), compared["phases"])
            if compared["additions"]:
                yield Table(self._columns_of_additions(), compared["additions"], [self._words["additions"]])
            limits = [filled(self._limits[each["name"]], **each["values"]) for each in compared["limits"]]
            if compared["failures"]:
                limits.insert(0, self._words["failed"])
            if limits:
                yield " ".join(limits)

    def files(self) -> str:
        """Returns how the files of the snapshot were recognised; empty if it names no files."""
        words = self._words
        by_basis: dict[str, list[str]] = {}
        for match in self._comparison["files"]:
            by_basis.setdefault(match["basis"], []).append(self._name_of(match))
        sentences = {TEXT: words["byText"], NAME: words["byName"], LINES: words["byLines"], ORDER: words["byOrder"]}
        notes = [
            filled(sentence, names=", ".join(dict.fromkeys(by_basis[basis])))
            for basis, sentence in sentences.items()
            if basis in by_basis
        ]
        unknown = [_base(file) for file in self._comparison["unknown_files"]]
        if unknown:
            listed = ", ".join(unknown[:_SHOWN_FILES])
            further = len(unknown) - _SHOWN_FILES
            names = listed if further <= 0 else filled(words["moreFiles"], names=listed, n=further)
            notes.append(filled(words["unknownFiles"], names=names))
        return " ".join(notes)

    def end(self) -> str:
        """Returns what holds for all devices."""
        comparison, words, sentences = self._comparison, self._words, list[str]()
        for name, key in (("only_predicted", "devicesPredicted"), ("only_measured", "devicesMeasured")):
            if comparison[name]:
                sentences.append(filled(words[key], names=", ".join([f"GPU:{number}" for number in comparison[name]])))
        if comparison["settings"] is not None:
            predicted, measured = [self._settings(each) for each in comparison["settings"]]
            sentences.append(filled(words["settings"], predicted=predicted, measured=measured))
        low, high = comparison["context"]
        return " ".join([*sentences, filled(words["context"], low=size(low), high=size(high))])

    def _settings(self, settings: Data) -> str:
        return ", ".join([f"{name}={value}" for name, value in settings.items()]) or self._words["defaults"]

    # Columns

    def _text(self, name: str, word: str = "") -> Column:
        return Column(name, self._words[word or name], self._in_words)

    def _in_words(self, value: Any) -> str:
        """Returns a name of the data in the user's language; other texts, such as lines of code, stay as they are."""
        return text(self._names.get(value, value))

    def _size(self, name: str, word: str = "") -> Column:
        return Column(name, self._words[word or name], size, number=True)

    def _count(self, name: str) -> Column:
        return Column(name, self._words["pieces"], number=True)

    def _columns_of_rows(self) -> Sequence[Column]:
        predicted = self._size("predicted"), self._count("predicted_pieces")
        measured = self._size("measured"), self._count("measured_pieces")
        return self._text("line"), self._text("phase"), *predicted, *measured, self._difference(), self._text("sides")

    def _columns_of_phases(self) -> Sequence[Column]:
        return self._text("phase"), self._size("predicted"), self._size("measured"), self._difference()

    def _columns_of_additions(self) -> Sequence[Column]:
        sizes = self._size("nbytes", "measured"), self._count("pieces")
        return self._text("library"), *sizes, self._text("function"), self._text("line", "mainLine")

    def _difference(self) -> Column:
        return Column("difference", self._words["difference"], _signed, number=True)

    # Sentences

    def _head(self, compared: Data) -> str:
        words, predicted, measured = self._words, compared["predicted"], compared["measured"]
        levels = {
            level: filled(words[level], size=exact(measured[level]), relation=self._relation(difference))
            for level in ("allocated", "reserved")
            for difference in [measured[level] - predicted[level]]
        }
        return filled(words["head"], file=self._comparison["snapshot"], name=f"GPU:{compared['device']}", **levels)

    def _relation(self, difference: int) -> str:
        if not difference:
            return self._words["asPredicted"]
        return filled(self._words["more" if difference > 0 else "less"], size=exact(abs(difference)))

    def _notes_on_rows(self, compared: Data) -> list[str]:
        predicted, measured = compared["predicted"], compared["measured"]
        notes = self._agreement(compared)
        if predicted["line"] and measured["line"] and predicted["line"] != measured["line"]:
            notes.append(filled(self._words["otherLine"], line=measured["line"]))
        if predicted["device"] not in (None, compared["device"]):
            notes.append(filled(self._words["otherDevice"], name=f"GPU:{predicted['device']}"))
        assigned = sum([row["assigned"] for row in compared["rows"]])
        if assigned:
            notes.append(filled(self._words["assigned"], size=exact(assigned)))
        return notes

    def _agreement(self, compared: Data) -> list[str]:
        """Returns how much of the measured memory has a predicted counterpart."""
        total = compared["measured"]["allocated"]
        if not total:
            return [self._words["empty"]]
        share = compared["same_size"] / total
        in_both = sum([row["measured"] for row in compared["rows"] if row["predicted_pieces"]]) / total
        is_known = any(match["basis"] in (TEXT, NAME) for match in self._comparison["files"])
        notes = [filled(self._words["agreement"], share=f"{100 * share:.0f}")]
        if in_both < _FEW or (share < _FEW and not is_known):
            notes.append(self._words["hardlyAny"])
        return notes

    def _name_of(self, match: Data) -> str:
        if match["basis"] in (TEXT, NAME):
            return match["program"]
        offset = match["offset"]
        shift = filled(self._words["shift"], sign="+" if offset > 0 else "-", n=abs(offset)) if offset else ""
        return f"{match['program']} ({', '.join(filter(None, (_base(match['file']), shift)))})"


def _signed(nbytes: int) -> str:
    return f"{'-' if nbytes < 0 else '+' if nbytes else ''}{size(abs(nbytes))}"


def _base(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]
