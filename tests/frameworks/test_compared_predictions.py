"""Where does a prediction differ from the snapshot of a card? The rows add up to both peaks, in every case."""

from __future__ import annotations

import gc
import io
import json
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import nbformat
import pytest

import nbtf as tf
from tests.rings import with_nightly
from tests.shells import interactive_shell

torch = pytest.importorskip("torch")

from nbtf._devices.discovery import gpus, simulated_machine  # noqa: E402  # after the skip
from nbtf._frameworks.torch.prediction.callers import Callers  # noqa: E402
from nbtf._frameworks.torch.simulation.installation import Installation  # noqa: E402
from nbtf.cli import main  # noqa: E402
from nbtf.notebook import catalogue  # noqa: E402
from nbtf.notebook.prediction import comparison_report  # noqa: E402
from nbtf.notebook.prediction.comparison import Comparison, opened  # noqa: E402
from nbtf.notebook.prediction.program import Cell, Program  # noqa: E402
from tests.frameworks.card_snapshots import WORKSPACE, CardProgram  # noqa: E402

IMPORTS = "import torch, torch.nn as nn\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\nbatch_size = 64"
MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(256, 1024), nn.Linear(1024, 256)
    def forward(self, x):
        h = torch.relu(self.up(x))
        return self.down(h)

model = Net().to(device)
optimizer = torch.optim.Adam(model.parameters(), foreach=False)"""
STEPS = """losses = []
for step in range(2):
    x = torch.randn(batch_size, 256, device=device)
    y = model(x)
    loss = y.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CHECK = "with torch.no_grad():\n    x = torch.randn(1 << 14, 256, device=device)\n    y = model(x)"
SOURCES = IMPORTS, MODEL, STEPS, CHECK
LAST_LINE = "cell 2, line 7: h = torch.relu(self.up(x))"

Run = Callable[..., dict[str, Any]]


def _cells(sources: Sequence[str]) -> list[Cell]:
    return [Cell(number, source, True) for number, source in enumerate(sources, start=1)]


@pytest.fixture
def compared(tmp_path: Path) -> Iterator[Run]:
    """Compares the prediction of some cells with the snapshot of others, on two cards."""
    cards = gpus(simulated_machine(2, "A100-40GB"), {})
    machine = (installation := Installation(torch, cards, values=False, read_as=0.0)).machine

    def run(
        sources: Sequence[str],
        on_card: Sequence[str] | None = None,
        change: Callable[[dict[str, Any]], object] = bool,
        is_kernel: bool = True,
    ) -> dict[str, Any]:
        written = CardProgram(torch, machine, _cells(on_card or sources), is_kernel).snapshot()
        change(written)
        path = tmp_path / "snapshot.pickle"
        path.write_bytes(pickle.dumps(written))
        program, callers = Program(torch, machine, _cells(sources), 600), Callers()
        outcome = program.run(callers=callers)
        snapshot = opened(str(path))
        comparison = Comparison(program.cells, outcome, callers, snapshot, program.settings, (0, 1 << 20)).to_dict()
        predicted = {each.peak.device: each.peak.allocated for each in outcome.devices}
        for each in comparison["devices"]:
            _adds_up(each, predicted.get(each["predicted"]["device"], 0), snapshot.peak(each["device"]).allocated)
        return json.loads(json.dumps(comparison))

    with redirect_stdout(io.StringIO()):
        yield run
    gc.collect()
    installation.remove()


def _adds_up(comparison: dict[str, Any], predicted: int, measured: int) -> None:
    for rows in (comparison["rows"], comparison["phases"]):
        assert sum(row["predicted"] for row in rows) == predicted
        assert sum(row["measured"] for row in rows) == measured
        assert sum(row["difference"] for row in rows) == measured - predicted


def _first(comparison: dict[str, Any]) -> dict[str, Any]:
    return comparison["devices"][0]


def _differing(comparison: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(row["line"], row["phase"]): row["difference"] for row in _first(comparison)["rows"] if row["difference"]}


def _text(comparison: dict[str, Any]) -> str:
    return "\n".join(map(str, comparison_report.sections(comparison)))


def _bases(comparison: dict[str, Any]) -> dict[str, str]:
    return {match["program"]: match["basis"] for match in comparison["files"] if match["program"].startswith("cell")}


@pytest.mark.parametrize(
    "is_kernel", with_nightly([False], [True]), ids=lambda is_kernel: "kernel" if is_kernel else "terminal"
)
def test_the_same_program_does_not_differ(compared: Run, is_kernel: bool) -> None:
    comparison = compared(SOURCES, is_kernel=is_kernel)

    assert _differing(comparison) == {}
    assert _first(comparison)["additions"] == []
    assert {row["sides"] for row in _first(comparison)["rows"]} == {"both"}
    assert _first(comparison)["same_size"] == _first(comparison)["measured"]["allocated"] > 0
    assert _first(comparison)["predicted"]["line"] == _first(comparison)["measured"]["line"] == LAST_LINE
    assert _first(comparison)["predicted"]["reserved"] == _first(comparison)["measured"]["reserved"]
    assert _bases(comparison) == {"cell 2": "text", "cell 3": "text", "cell 4": "text"}
    text = _text(comparison)
    assert "allocated at most" in text
    assert text.count("as predicted") == 2
    assert "100 % of the measured memory" in text


def test_backward_passes_have_no_line_on_a_card(compared: Run) -> None:
    comparison = compared(SOURCES[:3])

    rows = {row["line"]: row for row in _first(comparison)["rows"]}
    gradients = rows["cell 3, line 7: loss.backward()"]
    assert gradients["phase"] == "backward"
    assert gradients["assigned"] == gradients["measured"] == gradients["predicted"] > 0
    assert "have no line in the snapshot" in _text(comparison)


def test_one_more_tensor_is_exactly_one_row(compared: Run) -> None:
    line = "    x = torch.randn(1 << 14, 256, device=device)"
    on_card = CHECK.replace(line, f"{line}; more = torch.ones(1 << 20, device=device)")

    comparison = compared(SOURCES, [*SOURCES[:3], on_card])

    assert _differing(comparison) == {(f"cell 4, line 2: {line.strip()}", "other"): 4 << 20}
    assert _bases(comparison)["cell 4"] == "lines"
    assert [(each["library"], each["nbytes"], each["pieces"]) for each in _first(comparison)["additions"]] == [
        ("not predicted", 4 << 20, 1)
    ]
    assert "+4 MiB" in _text(comparison)


def test_rows_scale_with_the_batch(compared: Run) -> None:
    steps = STEPS.replace("optimizer.step()\n", "optimizer.step()\nlast = model(torch.ones(1 << 14, 256).to(device))")
    steps = steps.replace("1 << 14", "batch_size << 8")

    comparison = compared([IMPORTS, MODEL, steps], [IMPORTS.replace("64", "128"), MODEL, steps])

    rows = {row["line"]: row for row in _first(comparison)["rows"]}
    for words in ("cell 2, line 7: h = torch.relu(self.up(x))", "cell 2, line 8: return self.down(h)"):
        assert rows[words]["measured"] == 2 * rows[words]["predicted"] > 0
        assert rows[words]["phase"] == "forward"
    model = rows["cell 2, line 10: model = Net().to(device)"]
    assert model["difference"] == 0 < model["predicted"]
    assert _first(comparison)["additions"] == []
    assert 0 < _first(comparison)["same_size"] < _first(comparison)["measured"]["allocated"] / 2


def test_another_program_is_recognised_as_such(compared: Run) -> None:
    program = [
        "import torch",
        "def data(n):\n\n\n\n    return torch.ones(n << 20, device='cuda')",
        "a, b = data(3), data(5)",
    ]

    comparison = compared(SOURCES, program)

    assert {row["sides"] for row in _first(comparison)["rows"]} == {"only in the prediction", "only in the snapshot"}
    assert _first(comparison)["same_size"] == 0
    assert "Hardly any line matches" in _text(comparison)


def test_workspaces_of_libraries_are_listed_by_their_call(compared: Run) -> None:
    on_card = MODEL.replace("h = ", "self.space = torch.empty(8519680, dtype=torch.uint8, device=x.device); h = ")

    def allocate_in_library(contents: Any) -> None:
        for event in contents["device_traces"][0]:
            if event["size"] == 8519680:
                event["frames"] = [*WORKSPACE, *event["frames"]]

    comparison = compared(SOURCES, [IMPORTS, on_card, STEPS, CHECK], allocate_in_library)

    row = {key: _first(comparison)["additions"][0][key] for key in ("library", "function", "nbytes", "pieces")}
    assert len(_first(comparison)["additions"]) == 1
    assert row == {
        "library": "cuBLAS",
        "function": "at::cuda::getCurrentCUDABlasHandle",
        "nbytes": 8519680,
        "pieces": 1,
    }
    assert "cuBLAS" in _text(comparison)


def test_an_earlier_line_moves_the_lines_of_a_cell(compared: Run) -> None:
    comparison = compared(SOURCES, [IMPORTS, f"# new\n\n{MODEL.strip()}", STEPS, CHECK])

    assert _differing(comparison) == {}
    assert _bases(comparison)["cell 2"] == "lines"
    assert "Recognised by the lines that allocate, because the text differs: cell 2 (" in _text(comparison)


def test_an_exported_script_contains_the_cells(compared: Run) -> None:
    script = [IMPORTS, f"{MODEL.strip()}\n\n# In[3]:\n\n{STEPS}\n# In[4]:\n\n{CHECK}"]

    def rename(contents: Any) -> None:
        _replace_files(contents, lambda file: "/home/ann/train.py" if "ipykernel" in file else file)

    comparison = compared(SOURCES, script, rename)

    assert _bases(comparison) == {"cell 2": "lines", "cell 3": "lines", "cell 4": "lines"}
    assert _differing(comparison) == {}


def test_a_history_that_begins_late_is_assigned_by_size(compared: Run) -> None:
    def shorten(contents: Any) -> None:
        trace = contents["device_traces"][0]
        at = [index for index, event in enumerate(trace) if event["action"] == "alloc"][8]
        older = {event["addr"] for event in trace[:at] if event["action"] == "alloc"}
        del trace[:at]
        for block in [block for segment in contents["segments"] for block in segment["blocks"]]:
            if block["address"] in older:
                block["frames"] = []

    comparison = compared(SOURCES, change=shorten)

    assert _first(comparison)["predicted"]["allocated"] == _first(comparison)["measured"]["allocated"]
    assert _differing(comparison) == {}
    rows = {row["line"]: row for row in _first(comparison)["rows"]}
    assert rows["cell 2, line 10: model = Net().to(device)"]["assigned"] > 0
    assert "the history begins late" in _text(comparison)


def test_a_snapshot_without_stacks_is_compared_as_far_as_possible(compared: Run) -> None:
    def strip(contents: Any) -> None:
        _replace_frames(contents, lambda _: [])

    comparison = compared(SOURCES, [*SOURCES[:3], CHECK.replace("256", "512").replace("model(x)", "x + 1")], strip)

    rows = {row["line"]: row for row in _first(comparison)["rows"]}
    assert rows["no stack recorded"]["sides"] == "only in the snapshot"
    assert rows["cell 2, line 10: model = Net().to(device)"]["difference"] == 0


def test_other_settings_are_named(compared: Run) -> None:
    def change(contents: Any) -> None:
        contents["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:64"

    comparison = compared(SOURCES, change=change)

    assert comparison["settings"] == [{}, {"max_split_size": 64 << 20}]
    assert "the defaults in the prediction, max_split_size=67108864 in the snapshot" in _text(comparison)


@pytest.mark.nightly
def test_a_command_compares_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str], compared: Run) -> None:
    compared(SOURCES[:2])
    path = _notebook(tmp_path, SOURCES[:2])
    arguments = ["predict", str(path), "--gpus", "A100-40GB", "--compare", str(tmp_path / "snapshot.pickle")]
    capsys.readouterr()

    assert main([*arguments, "--json"]) == 0

    comparison = json.loads(capsys.readouterr().out)["comparison"]
    assert comparison["snapshot"] == "snapshot.pickle"
    assert _differing(comparison) == {}
    assert comparison["context"] == [300 << 20, 600 << 20]


def test_a_command_rejects_a_file_before_it_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _notebook(tmp_path, SOURCES[:2])

    assert main(["predict", str(path), "--gpus", "T4", "--compare", str(path)]) == 2

    assert "training.ipynb is a notebook" in capsys.readouterr().err


def test_a_cell_is_compared_only_if_it_is_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with interactive_shell(tmp_path / "ipython") as shell:
        tf.load_ipython_extension(shell)
        shell.run_cell("%%gpu_memory --compare nothing.pickle\nx = 1")
        assert "x" not in shell.user_ns
        shell.run_cell("%%gpu_memory --predict T4 --compare nothing.pickle\nx = 1", store_history=True)
        tf.unload_ipython_extension(shell)

    errors = capsys.readouterr().err
    assert "--compare needs --predict" in errors
    assert "nothing.pickle cannot be read: No such file" in errors


TWO_CARDS = """
import torch
kept = [torch.ones(n << 18, device=f"cuda:{n % 2}") for n in range(1, 6)]
more = torch.ones(3 << 20, device="cuda:1")
"""


def test_every_device_that_both_sides_use_is_compared(compared: Run) -> None:
    on_card = TWO_CARDS.replace("3 << 20", "4 << 20")

    comparison = compared([TWO_CARDS], [on_card])

    assert [each["device"] for each in comparison["devices"]] == [0, 1]
    assert [sum(row["difference"] for row in each["rows"]) for each in comparison["devices"]] == [0, 4 << 20]
    assert comparison["only_predicted"] == comparison["only_measured"] == []
    text = _text(comparison)
    assert text.index("GPU:0)") < text.index("as predicted") < text.index("GPU:1)") < text.index("more than predicted")


def test_devices_of_one_side_are_named(compared: Run) -> None:
    one = "import torch\nx = torch.ones(1 << 20, device='cuda:0')"

    snapshot_only, prediction_only = compared([one], [TWO_CARDS]), compared([TWO_CARDS], [one])

    assert [each["device"] for each in snapshot_only["devices"]] == [0]
    assert (snapshot_only["only_measured"], prediction_only["only_predicted"]) == ([1], [1])
    assert "Only the snapshot uses GPU:1." in _text(snapshot_only)
    assert "Only the prediction uses GPU:1." in _text(prediction_only)


def test_without_a_common_device_the_fullest_ones_are_compared(compared: Run) -> None:
    first, second = [f"import torch\nx = torch.ones(1 << 20, device='cuda:{number}')" for number in (0, 1)]

    comparison = compared([first], [second])

    assert (_first(comparison)["predicted"]["device"], _first(comparison)["device"]) == (0, 1)
    assert "The prediction used GPU:0 instead." in _text(comparison)


_PLACES = re.compile(r"cell \d+, line \d+: [^。\n]*?(?=  |。|\n|$)|cell \d+|\d+\.py, line \d+(?: in \w+)?")
_NAMES = re.compile(r"PyTorch|Python|CUDA|cuBLAS|GPU|snapshot\.pickle|[a-zA-Z0-9]+_[a-zA-Z0-9_=]+|bytes|[KMG]iB")
"""Parts of a report that are the same in every language."""


@pytest.mark.parametrize("language", ["en", "ja", "zh_CN"])
def test_a_comparison_is_in_the_language_that_is_asked_for(
    language: str, compared: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(contents: Any) -> None:
        contents["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:64"
        contents["device_traces"][0].append({"action": "oom", "size": 1 << 40, "device_free": 5, "frames": []})

    one = "import torch\nx = torch.ones(1 << 20, device='cuda:0')\ny = torch.ones(1 << 10, device='cuda:1')"
    comparisons = [
        compared(SOURCES, [*SOURCES[:3], CHECK.replace("y =", "z = torch.ones(9, device=device)\n    y =")], change),
        compared([one], [TWO_CARDS]),
        compared(["x = 1"], SOURCES[:2]),
        compared(SOURCES, ["import torch\nx = torch.ones(9 << 20, device='cuda')"]),
    ]
    monkeypatch.setenv(catalogue.VARIABLE, language)
    words = catalogue.words("compare")
    text = "\n".join(map(_text, comparisons))

    for name in (
        "asPredicted",
        "difference",
        "sides",
        "both",
        "onlyPredicted",
        "onlyMeasured",
        "additions",
        "hardlyAny",
    ):
        assert words[name] in text
    is_english = re.findall(r"[A-Za-z]{3,}", _NAMES.sub("", _PLACES.sub("", text)))
    assert bool(is_english) == (language == "en"), is_english


def test_a_program_without_gpus_has_only_rows_of_the_snapshot(compared: Run) -> None:
    comparison = compared(["x = 1"], SOURCES[:2])

    assert {row["sides"] for row in _first(comparison)["rows"]} == {"only in the snapshot"}
    assert _first(comparison)["predicted"] == {"device": None, "allocated": 0, "reserved": 0, "line": ""}
    assert "Hardly any line matches" in _text(comparison)


@pytest.mark.parametrize("content", [None, b"no snapshot", pickle.dumps({"segments": [], "device_traces": []})])
def test_other_files_are_rejected(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "file.pickle"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ValueError, match=r"file\.pickle (cannot be read|is not a memory snapshot|contains no memory)"):
        opened(str(path))


def _notebook(folder: Path, sources: Sequence[str]) -> Path:
    v4: Any = nbformat.v4
    path = folder / "training.ipynb"
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(source) for source in sources]), path)
    return path


def _replace_frames(contents: Any, change: Callable[[list[Any]], list[Any]]) -> None:
    for entry in [*contents["device_traces"][0], *[block for each in contents["segments"] for block in each["blocks"]]]:
        entry["frames"] = change(entry["frames"])


def _replace_files(contents: Any, change: Callable[[str], str]) -> None:
    _replace_frames(contents, lambda frames: [{**frame, "filename": change(frame["filename"])} for frame in frames])
