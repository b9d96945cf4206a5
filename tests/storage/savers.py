"""A table of everything in nbtf that saves: how an old version is saved, replaced by a new one, and read."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import nbformat
import numpy as np
from IPython.core.error import UsageError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import nbtf as tf
from nbtf import cli
from nbtf.cli import pyodide_folder
from nbtf.cli.checking.verdicts import CellVerdict, NotebookVerdict, State
from nbtf.cli.lab import Lesson
from nbtf.cli.notebook_file import read
from nbtf.keras.generation import LEGACY
from nbtf.notebook.magics import placement_log
from tests.cli.site_pages import build_pages
from tests.storage.events import values_of

keras = tf.keras
callbacks = keras.callbacks


@dataclass(frozen=True)
class Saver:
    """One way to save to a folder. `load` returns a comparable value; it raises an error if the file is damaged."""

    name: str
    prepare: Callable[[Path], object]
    save: Callable[[Path], object]
    load: Callable[[Path], Any]


class CommandFailedError(Exception):
    """A command failed; the text is its output on stderr."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def in_versions(name: str, save: Callable[[Path, int], object], load: Callable[[Path], Any]) -> Saver:
    """Returns a saver of a number: first 1, then 2."""
    return Saver(name, lambda folder: save(folder, 1), lambda folder: save(folder, 2), load)


def model(number: int) -> Any:
    layers = keras.Sequential([keras.Input((20,)), keras.layers.Dense(20)])
    layers.compile("sgd", "mse")
    layers.set_weights([np.full_like(weight, number) for weight in layers.get_weights()])
    return layers


def save_for_keras_2(path: Path, number: int) -> None:
    with patch.dict(os.environ, {LEGACY: "1"}):
        model(number).save_weights(path)


def number_of(arrays: Any) -> float:
    """Returns the number that all elements of all arrays have."""
    numbers = {float(element) for array in arrays for element in np.unique(array)}
    assert len(numbers) == 1, f"a mixture of {numbers}"
    return numbers.pop()


def of_weights(path: Path) -> float:
    restored = model(0)
    restored.load_weights(path)
    return number_of(restored.get_weights())


def of_model(path: Path) -> float:
    return number_of(keras.models.load_model(path).get_weights())


def remains(folder: Path) -> list[str]:
    """Returns the files that a save must not leave: drafts, and more than one generation of a folder."""
    generations: dict[Path, list[str]] = {}
    for path in sorted(folder.rglob("generation-*")):
        generations.setdefault(path.parent, []).append(path.name)
    second = [name for names in generations.values() for name in names[1:]]
    return second + [path.name for path in folder.rglob("*.nbtf-draft")]


# ---- Keras


def by_model_checkpoint(folder: Path, number: int) -> None:
    callback = callbacks.ModelCheckpoint(folder / "inner" / "best.keras")
    callback.set_model(model(number))
    callback.on_epoch_begin(0)
    callback.on_epoch_end(0, {})


def by_csv(append: bool) -> Callable[[Path, int], None]:
    def save(folder: Path, number: int) -> None:
        callback = callbacks.CSVLogger(folder / "log.csv", append=append)
        callback.on_train_begin()
        callback.on_epoch_end(0, {"loss": number})
        callback.on_train_end()

    return save


def by_summary(folder: Path, number: int) -> None:
    with tf.summary.create_file_writer(str(folder)).as_default(step=number) as writer:
        tf.summary.scalar("loss", number)
    writer.close()


def of_summaries(folder: Path) -> float | None:
    return max((value for path in folder.iterdir() for _, _, value in values_of(path)), default=None)


def of_text(name: str) -> Callable[[Path], str | None]:
    def load(folder: Path) -> str | None:
        return (folder / name).read_text() if (folder / name).exists() else None

    return load


# ---- modules, checkpoints


class Values(tf.Module):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.values = tf.Variable(np.full(5000, number, np.float32))


def by_checkpoint(folder: Path, number: int) -> None:
    checkpoint = tf.train.Checkpoint(module=Values(number))
    checkpoint.save_counter.assign(number - 1)
    checkpoint.save(folder / "ckpt")


def by_manager(folder: Path, number: int) -> None:
    checkpoint = tf.train.Checkpoint(module=Values(number))
    checkpoint.save_counter.assign(number - 1)
    tf.train.CheckpointManager(checkpoint, folder, max_to_keep=1).save()


def by_saver(folder: Path, number: int) -> None:
    train = tf.compat.v1.train
    saver = train.Saver({"values": Values(number).values}, max_to_keep=1)
    state = train.get_checkpoint_state(folder)
    saver.recover_last_checkpoints([] if state is None else state.all_model_checkpoint_paths)
    saver.save(None, folder / "model", global_step=number)


def of_saver(folder: Path) -> float:
    values = Values(0).values
    tf.compat.v1.train.Saver({"values": values}).restore(None, tf.train.latest_checkpoint(folder))
    return number_of([values.numpy()])


def of_checkpoint(path: str | None) -> float:
    module = Values(0)
    tf.train.Checkpoint(module=module).restore(path).expect_partial()
    return number_of([module.values.numpy()])


# ---- texts


def by_print(folder: Path, number: int) -> None:
    tf.print("line", number, output_stream=f"file://{folder}/printed")


def by_write_file(folder: Path, number: int) -> None:
    tf.io.write_file(str(folder / "written"), f"line {number}\n")


def by_records(folder: Path, number: int) -> None:
    with tf.io.TFRecordWriter(folder / "records") as writer:
        writer.write(str(number))


def of_records(folder: Path) -> Any:
    """Returns the records; None before the file exists."""
    path = folder / "records"
    return [record.numpy() for record in tf.data.TFRecordDataset(str(path))] if path.exists() else None


def by_copy(folder: Path, number: int) -> None:
    tf.compat.v1.gfile.Copy(folder / f"source{number}", folder / "copy", overwrite=True)


def with_sources(folder: Path) -> None:
    for number in (1, 2):
        (folder / f"source{number}").write_text(str(number) * 100_000)
    by_copy(folder, 1)


def by_export(folder: Path, number: int) -> None:
    recorder = tf.runtime.Recorder()
    session: Any = SimpleNamespace(recorder=recorder, code_line=str)
    stop = tf.runtime.start_recorder(recorder)
    tf.zeros([number])
    stop()
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            placement_log._export(session, Namespace(target=f"{folder}/events.csv", format=None))
        except UsageError as error:
            raise CommandFailedError(2, f"{error}\n") from error


def of_export(folder: Path) -> list[str]:
    lines = (folder / "events.csv").read_text().splitlines()
    return [line.split(",")[8] for line in lines]  # without the times


def page_of(folder: Path, number: int) -> None:
    with tf.runtime.recording() as record:
        tf.zeros([number])
    record.to_html(folder / "page.html")


def of_page(folder: Path) -> list[str] | None:
    """Returns the result's shapes in the page; None before the page exists."""
    path = folder / "page.html"
    if not path.exists():
        return None
    page = path.read_text(encoding="utf-8")
    scene = json.loads(page.split('id="nbtf-scene">')[1].split("</script>")[0])["scene"]
    assert page.endswith("</html>\n")
    return [fact[4] for fact in scene["timeline"]["facts"]]


def page_of_recording(folder: Path) -> None:
    tf.runtime.read_recording(folder / "run.nbtf").to_html(folder / "page.html")


def by_recording(folder: Path, number: int) -> None:
    with tf.runtime.recording() as record:
        tf.zeros([number])
    record.save(folder / "run.nbtf")


def of_recording(folder: Path) -> list[Any] | None:
    """Returns the results' shapes in the recording; None before the file exists."""
    if not (folder / "run.nbtf").exists():
        return None
    events = tf.runtime.read_recording(folder / "run.nbtf").events
    return [event.outputs[0].shape for event in events if isinstance(event, tf.runtime.OpExecuted) and event.outputs]


# ---- the command line


def command(*words: str | Path, accepted: tuple[int, ...] = (0,)) -> None:
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        status = cli.main([str(word) for word in words])
    if status not in accepted:
        raise CommandFailedError(status, errors.getvalue())


def notebook(path: Path, text: str) -> None:
    cells = [new_markdown_cell(f"# {text}", id="title"), new_code_cell("1 + 1", id="sum")]
    path.parent.mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=cells), path)


def of_notebook(name: str) -> Callable[[Path], Any]:
    def load(folder: Path) -> Any:
        path = folder / name
        return nbformat.read(path, as_version=4) if path.exists() else None

    return load


def execute(notebook: Any, folder: Path, seconds: int | None) -> None:
    notebook.cells[1].outputs = [new_output("stream", text="2" * 100_000)]


def record(folder: Path) -> None:
    with patch("nbtf.cli.notebooks.execute", execute):
        command("notebooks", "record", folder / "lesson.ipynb")


def check(*options: str) -> Callable[[Path], None]:
    """Returns a check of a notebook in which a cell prints something new."""

    def check_all(
        paths: list[Path], plan: object, at_once: int, tell: Callable[[NotebookVerdict], None], is_fail_fast: bool
    ) -> Any:
        executed = read(paths[0])
        execute(executed, paths[0].parent, None)
        cell = CellVerdict(1, 1, "1 + 1", State.DIFFERS, ["+ 2"], printed=executed.cells[1].outputs)
        tell(verdict := NotebookVerdict(paths[0], [cell], executed=executed))
        return [verdict]

    def save(folder: Path) -> None:
        outside = patch.dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
        with patch("nbtf.cli.checking.command.check_all", check_all), outside:
            words = [option.replace("DIR", str(folder)) for option in options]
            command("notebooks", "check", folder / "lesson.ipynb", *words, accepted=(0, 1))  # 1: it differs

    return save


def run(folder: Path) -> None:
    with patch("nbtf.cli.execution.run_to_end", lambda *ignored: None):
        command("run", folder / "lesson.ipynb", "-o", folder / "out.ipynb")


def view(folder: Path) -> None:
    command("view", folder / "run.nbtf", "-o", folder / "page.html")


def before_run(folder: Path) -> None:
    notebook(folder / "lesson.ipynb", "New")
    notebook(folder / "out.ipynb", "Old")


def student(folder: Path) -> None:
    command("notebooks", "student", folder / "lesson.ipynb", "-o", folder / "copies")


def before_update(folder: Path) -> None:
    notebook(folder / "lesson.ipynb", "Title")


def before_report(folder: Path) -> None:
    notebook(folder / "lesson.ipynb", "New")
    notebook(folder / "out" / "lesson.ipynb", "Old")
    (folder / "out" / "index.html").write_text("Old")
    (folder / "out" / "junit.xml").write_text("Old")


def before_student(folder: Path) -> None:
    notebook(folder / "lesson.ipynb", "New")
    notebook(folder / "copies" / "lesson.ipynb", "Old")


def before_images(folder: Path) -> None:
    notebook(folder / "lesson.ipynb", "![An idea](idea.svg)")
    (folder / "idea.svg").write_text("<svg/>")


def translate(folder: Path) -> None:
    command("notebooks", "translate", folder / "lesson.ipynb", "--language", "ja", accepted=(0, 1))  # 1: not complete


def before_translate(folder: Path) -> None:
    notebook(folder / "lesson.ipynb", "Old")
    translate(folder)
    notebook(folder / "lesson.ipynb", "New")


def badges(folder: Path) -> None:
    command("notebooks", "badges", folder / "lesson.ipynb")


def before_badges(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[project.urls]\nSource = "https://github.com/me/course"\n')
    notebook(folder / "lesson.ipynb", "Title")


def lab(folder: Path) -> None:
    lessons = [Lesson(folder / "lesson.ipynb", "lesson.ipynb")]
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch("nbtf.cli.lab.lessons", lambda: lessons))
        stack.enter_context(patch("nbtf.cli.lab.sign", list))  # Jupyter's own database of trusted notebooks
        stack.enter_context(patch("nbtf.cli.lab.start", lambda words: 0))
        command("lab", "--dir", folder / "course")


CORE, NEEDED = ("pyodide.mjs",), ("numpy",)
"""A part of Pyodide's files, because each file needs about ten system calls."""


def site(folder: Path) -> None:
    def build(source: Path, output: Path) -> None:
        output.mkdir()
        for name in ("wheels", "static"):
            (source / name).rename(output / name)
        for page in (folder / "pages").rglob("*.*"):
            (output / page.relative_to(folder / "pages")).parent.mkdir(exist_ok=True, parents=True)
            (output / page.relative_to(folder / "pages")).hardlink_to(page)

    scratch = folder.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch("tempfile.tempdir", str(scratch)))
        stack.enter_context(patch("nbtf.cli.pyodide_folder.CORE", CORE))
        stack.enter_context(patch("nbtf.cli.pyodide_folder.NEEDED", NEEDED))
        stack.enter_context(patch("importlib.util.find_spec", lambda name: object()))
        stack.enter_context(patch("nbtf.cli.site.fetch_wheels", lambda folder: None))
        stack.enter_context(patch("nbtf.cli.site.has_digits", lambda: False))
        stack.enter_context(patch("nbtf.cli.site.build", build))
        stack.enter_context(patch("nbtf.cli.own_wheel._files", lambda: [("nbtf/__init__.py", b"")]))
        stack.enter_context(patch("nbtf.cli.own_wheel._digits", list))
        command("site", "-o", folder / "site", "--pyodide", folder / "pyodide", "--", folder / "lesson.ipynb")


def before_site(folder: Path) -> None:
    notebook(folder / "lesson.ipynb", "Lesson")
    build_pages(folder / "pages", pyodide="./static/pyodide/pyodide.mjs")
    pyodide = folder / "pyodide"
    pyodide.mkdir()
    packages: dict[str, Any] = {}
    for name in NEEDED:
        (pyodide / f"{name}-1.whl").write_text(name)
        digest = hashlib.sha256(name.encode()).hexdigest()
        packages[name] = {"file_name": f"{name}-1.whl", "sha256": digest, "depends": []}
    (pyodide / pyodide_folder.LOCK).write_text(json.dumps({"packages": packages}))
    for name in CORE:
        (pyodide / name).write_text(name)


def of_site(folder: Path) -> Any:
    """Returns the files and their sizes; None before the site exists."""
    root = folder / "site"
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return [(str(path.relative_to(root)), path.stat().st_size) for path in files] if root.exists() else None


SAVERS = (
    in_versions(
        "weights", lambda f, n: model(n).save_weights(f / "w.weights.h5"), lambda f: of_weights(f / "w.weights.h5")
    ),
    in_versions(
        "weights and state",
        lambda f, n: save_for_keras_2(f / f"w{n}", n),
        lambda f: of_weights(Path(str(tf.train.latest_checkpoint(f)))),
    ),
    in_versions("model in a file", lambda f, n: model(n).save(f / "m.keras"), lambda f: of_model(f / "m.keras")),
    in_versions("model in a folder", lambda f, n: model(n).save(f / "m"), lambda f: of_model(f / "m")),
    in_versions(
        "saved model",
        lambda f, n: tf.saved_model.save(Values(n), f / "s"),
        lambda f: number_of([tf.saved_model.load(f / "s").values.numpy()]),
    ),
    in_versions("model checkpoint", by_model_checkpoint, lambda f: of_model(f / "inner" / "best.keras")),
    in_versions("table", by_csv(append=False), of_text("log.csv")),
    in_versions("table that grows", by_csv(append=True), of_text("log.csv")),
    in_versions("notes for TensorBoard", by_summary, of_summaries),
    in_versions(
        "written checkpoint",
        lambda f, n: tf.train.Checkpoint(module=Values(n)).write(f / "c"),
        lambda f: of_checkpoint(f"{f}/c"),
    ),
    in_versions("checkpoint", by_checkpoint, lambda f: of_checkpoint(tf.train.latest_checkpoint(f))),
    in_versions("managed checkpoint", by_manager, lambda f: of_checkpoint(tf.train.latest_checkpoint(f))),
    in_versions("saver", by_saver, of_saver),
    in_versions("printed text", by_print, of_text("printed")),
    in_versions("written text", by_write_file, of_text("written")),
    in_versions("records", by_records, of_records),
    Saver("copy", with_sources, lambda f: by_copy(f, 2), of_text("copy")),
    in_versions("export", by_export, of_export),
    in_versions("page", page_of, of_page),
    in_versions("recording", by_recording, of_recording),
    Saver("page of a file", lambda f: by_recording(f, 2), view, of_page),
    Saver("page of a recording", lambda f: by_recording(f, 2), page_of_recording, of_page),
    Saver("recorded notebook", lambda f: notebook(f / "lesson.ipynb", "Title"), record, of_notebook("lesson.ipynb")),
    Saver(
        "updated notebook",
        lambda f: notebook(f / "lesson.ipynb", "Title"),
        check("--update"),
        of_notebook("lesson.ipynb"),
    ),
    Saver("report of a check", before_report, check("--report=DIR/out"), of_text("out/index.html")),
    Saver("checked notebook", before_report, check("--report=DIR/out"), of_notebook("out/lesson.ipynb")),
    Saver("report for a server", before_report, check("--junit=DIR/out/junit.xml"), of_text("out/junit.xml")),
    Saver("notebooks that failed", before_report, check(), of_text("cache/nbtf/failed-notebooks.json")),
    Saver("run notebook", before_run, run, of_notebook("out.ipynb")),
    Saver("student's copy", before_student, student, of_notebook("copies/lesson.ipynb")),
    Saver("image of a lesson", before_images, student, of_text("copies/idea.svg")),
    Saver("catalogue", before_translate, translate, of_text("locale/ja/LC_MESSAGES/lesson.po")),
    Saver("translation", before_translate, translate, of_notebook("ja/lesson.ipynb")),
    Saver("badges", before_badges, badges, of_notebook("lesson.ipynb")),
    Saver("lab", lambda f: notebook(f / "lesson.ipynb", "Lesson"), lab, of_notebook("course/lesson.ipynb")),
    Saver("site", before_site, site, of_site),
)
