"""The report of a prediction, as text, HTML and data."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from nbtf._counts import counted
from nbtf._displayed import Displayed
from nbtf._frameworks.torch.prediction.module_shares import OTHERS
from nbtf.notebook.prediction import comparison_report
from nbtf.notebook.tables import Column, Table, sizes, texts
from nbtf.runtime import exact


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


_PURPOSES = (
    Column("purpose", "what for"),
    *sizes(nbytes="at the peak"),
    Column("share", "share", _percent, number=True),
)
_MODULES = (
    Column("module", "module"),
    *sizes(nbytes="at the peak"),
    Column("share", "share", _percent, number=True),
)
_MODULE_NAMES = {"": "(no module)", OTHERS: "(other modules)"}
_PEAKS = {"allocated": "peak allocated", "reserved": "peak reserved"}
_BATCHES = (
    Column("batch", "batch", number=True),
    *sizes(**_PEAKS),
    Column("fits", "on the card"),
)
_CHANGES = (
    *texts("change"),
    *sizes(saved="saves", **_PEAKS),
    Column("fits", "on the card"),
    Column("code", "code"),
)

MODELLED = (
    "Simulated: PyTorch's allocator at every op of the program, without values. Modelled: CUDA's context and the "
    "workspace of cuBLAS, hence the range. Unknown without a card: the workspaces of cuDNN and attention."
)


class Prediction(Displayed):
    """A prediction: prints as text, displays as HTML, and returns its figures as data."""

    def __init__(self, answer: Mapping[str, Any], program: str) -> None:
        """Stores the answer, and the name of what was predicted, such as `cell 4`."""
        self._answer, self._program = answer, program

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures in bytes."""
        return dict(self._answer)

    def __repr__(self) -> str:
        """Returns the answer as text."""
        return "\n\n".join(str(section) for section in self._sections())

    def _repr_html_(self) -> str:
        """Returns the answer as HTML."""
        blocks = [
            section._repr_html_() if isinstance(section, Table) else f"<p>{html.escape(section)}</p>"
            for section in self._sections()
        ]
        return f"<div>{''.join(blocks)}</div>"

    def _sections(self) -> list[str | Table]:
        answer = self._answer
        if answer["peak"] is None:
            notes = [*_ends(answer), *answer["notes"]]
            sentence = " ".join([f"{self._program} puts no PyTorch tensor on a GPU.", *notes])
            return [sentence, *_compared(answer)]
        sections: list[str | Table] = [_sentence(answer, self._program), _purposes(answer["peak"], answer)]
        if any("." in path for path in answer["peak"]["by_module"]):  # otherwise the model has no parts in parts
            sections.append(_modules(answer["peak"]))
        if answer["batch"]:
            sections.append(_batches(answer["batch"], answer["peak"], answer))
        if answer["changes"]:
            notes = ["Each row comes from another run of the program, with the change."]
            if answer["untried"]:
                notes.append(f"Time limit of {answer['limit']:g} s reached: {answer['untried']} more were not tried.")
            sections.append(Table(_CHANGES, [_with_verdict(row) for row in answer["changes"]], notes))
        return [*sections, *_compared(answer), MODELLED]


def _sentence(answer: Mapping[str, Any], program: str) -> str:
    peak, (low, high) = answer["peak"], answer["fixed"]
    return (
        f"{program} {answer['verdict']} on {_article(answer['card'])} (simulated, {exact(answer['total'])}): "
        f"it allocates at most {exact(peak['allocated'])} and reserves at most {exact(peak['reserved'])}; "
        f"with PyTorch's overhead, {_short(peak['reserved'] + low)} to "
        f"{_short(peak['reserved'] + peak['modelled'] + high)}."
    )


def _compared(answer: Mapping[str, Any]) -> list[str | Table]:
    """Returns the sections about a comparison with a snapshot; none without one."""
    return comparison_report.sections(answer["comparison"]) if answer["comparison"] else []


def _article(card: str) -> str:
    return f"an {card}" if card.startswith("NVIDIA") else f"a {card}"


def _short(nbytes: int) -> str:
    return exact(nbytes).partition(" (")[0]


def _purposes(peak: Mapping[str, Any], answer: Mapping[str, Any]) -> Table:
    """Returns a table of the memory at the peak, by purpose."""
    total = peak["allocated"] or 1
    rows = [
        {"purpose": purpose, "nbytes": nbytes, "share": nbytes / total}
        for purpose, nbytes in peak["by_purpose"].items()
        if nbytes
    ]
    notes = [f"The peak is reached in {peak['line']}" if peak["line"] else "The peak was reached earlier."]
    notes += _ends(answer)
    if peak["modelled"]:
        notes.append(
            f"The activations include {exact(peak['modelled'])} that recurrent layers keep for their backward pass. "
            "Only cuDNN on a card reports the exact amount; this one is modelled, which widens the range by as much."
        )
    if answer["is_cut"]:
        notes.append("A loop was ended early, because three optimizer steps did not exceed the peak.")
    reads = answer["reads"]
    if reads:
        lines = list(reads)[:3]
        further = f" and {counted(len(reads) - 3, 'more line')}" if len(reads) > 3 else ""
        amount = counted(sum(reads.values()), "value")
        notes.append(
            f"The program read {amount} from the GPU. A prediction computes no values, so each read returned 0: "
            f"{'; '.join(lines)}{further}"
        )
    return Table(_PURPOSES, rows, [*notes, *dict.fromkeys(answer["notes"])])


def _modules(peak: Mapping[str, Any]) -> Table:
    """Returns a table of the memory at the peak, by part of the model."""
    total = peak["allocated"] or 1
    rows = [
        {"module": _MODULE_NAMES.get(path, path), "nbytes": nbytes, "share": nbytes / total}
        for path, nbytes in peak["by_module"].items()
    ]
    return Table(_MODULES, rows, ["Gradients and optimizer state count for the module of their parameter."])


def _ends(answer: Mapping[str, Any]) -> list[str]:
    """Returns notes about a program, or earlier cells, that did not run to the end."""
    notes = [
        f"An earlier cell ended with an error here, so its results are missing: {error}"
        for error in answer["unprepared"]
    ]
    if answer["error"]:
        notes.append(f"The program ended with an error. The prediction covers it up to there: {answer['error']}")
    if answer["stopped"]:
        notes.append(
            f"Stopped after {answer['limit']:g} s at {answer['stopped']}. The prediction covers the work until then."
        )
    return notes


def _batches(batch: Mapping[str, Any], peak: Mapping[str, Any], answer: Mapping[str, Any]) -> Table:
    """Returns a table of the memory with other batches, and the largest that fits."""
    rows = [
        {"batch": row["batch"], **_figures(row["peak"]), "fits": "fits" if row["fits"] else "does not fit"}
        for row in batch["rows"]
    ]
    rows.append({"batch": batch["value"], **_figures(peak), "fits": answer["verdict"]})
    return Table(_BATCHES, sorted(rows, key=lambda row: row["batch"]), [_largest(batch)])


def _figures(peak: Mapping[str, Any]) -> dict[str, Any]:
    return {"allocated": peak["allocated"], "reserved": peak["reserved"]}


def _largest(batch: Mapping[str, Any]) -> str:
    name, fits, fails = batch["name"], batch["largest"], batch["too_large"]
    if batch["error"]:
        return f"The largest batch is unknown: {batch['error']}"
    if fits and fits == batch["examples"]:
        return f"{name} = {fits:,} fits: that is the whole data set."
    if fits and fails is None:
        return f"{name} = {fits:,} fits; no larger batch failed in {batch['runs']} runs."
    if not fits:
        return f"No batch fits: the smallest one tried was {name} = {fails:,}."
    if fails == fits + 1:
        return f"The largest batch that fits is {name} = {fits:,}, found in {batch['runs']} runs."
    return f"{name} = {fits:,} fits, {fails:,} does not; batches in between were not tried."


def _with_verdict(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "fits": "fits" if row["fits"] else "does not fit"}
