"""What scripts of TensorFlow 1 begin with: flags, `tf.app.run`, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nbtf.compat.v1 as tf1
from nbtf.compat.v1 import app, flags, gfile


@pytest.fixture
def values(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(flags, "FLAGS", flags.FlagValues())
    flags.DEFINE_integer("steps", 10, "how many")
    flags.DEFINE_float("rate", 0.5)
    flags.DEFINE_boolean("log", False)
    flags.DEFINE_string("folder", "there")
    flags.DEFINE_enum("kind", "a", ["a", "b"])
    flags.DEFINE_list("names", "x,y")
    return flags.FLAGS


def test_flags_have_the_values_of_the_command_line(values: Any) -> None:
    left = values(["train.py", "--steps=3", "--log", "-rate", "0.25", "more", "--kind=b", "--other=1"])

    assert (3, 0.25, True, "there", "b", ["x", "y"]) == (
        values.steps,
        values.rate,
        values.log,
        values.folder,
        values.kind,
        values.names,
    )
    assert ["train.py", "more", "--other=1"] == left


def test_flags_are_read_when_one_is_first_asked_for(values: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["train.py", "--steps", "7", "--nolog"])

    assert (7, False) == (values.steps, values.log)


def test_flags_can_be_set_and_removed(values: Any) -> None:
    values.steps = 4
    del values.rate

    assert (4, False, True) == (values.flag_values_dict()["steps"], "rate" in values, "log" in values)
    with pytest.raises(AttributeError):
        values.rate  # noqa: B018  # reading it is what is tested


@pytest.mark.parametrize("word", ["--steps=x", "--log=perhaps", "--kind=c"])
def test_values_must_suit_their_flags(values: Any, word: str) -> None:
    with pytest.raises(ValueError, match=r"x|perhaps|<a\|b>"):
        values(["train.py", word])


def test_a_script_starts_with_what_is_left_of_the_command_line(values: Any) -> None:
    calls: list[Any] = []
    app.run(lambda argv: calls.append((argv, values.steps)), ["train.py", "--steps=2", "rest"])

    assert [(["train.py", "rest"], 2)] == calls
    assert tf1.app.flags is tf1.flags


def test_a_script_can_fail() -> None:
    with pytest.raises(SystemExit, match="3"):
        app.run(lambda argv: 3, ["train.py"])


def test_files_come_and_go(tmp_path: Path) -> None:
    folder = str(tmp_path / "a" / "b")
    gfile.MakeDirs(folder)
    with gfile.GFile(f"{folder}/one.txt", "w") as file:
        file.write("text")
    gfile.Copy(f"{folder}/one.txt", f"{folder}/two.txt")
    gfile.Rename(f"{folder}/one.txt", f"{folder}/three.txt")

    assert ["three.txt", "two.txt"] == sorted(gfile.ListDirectory(folder))
    assert [f"{folder}/three.txt", f"{folder}/two.txt"] == gfile.Glob(f"{folder}/*.txt")
    assert (4, True) == (gfile.Stat(f"{folder}/two.txt").length, gfile.IsDirectory(folder))
    assert [(folder, [], ["three.txt", "two.txt"])] == [
        (at, dirs, sorted(files)) for at, dirs, files in gfile.Walk(folder)
    ]

    gfile.Remove(f"{folder}/two.txt")
    gfile.DeleteRecursively(str(tmp_path / "a"))

    assert not gfile.Exists(folder)


def test_gfile_takes_the_argument_names_of_tensorflow_1(tmp_path: Path) -> None:
    folder, file = f"{tmp_path}/a", f"{tmp_path}/a/one.txt"
    gfile.MakeDirs(dirname=folder)
    gfile.FastGFile(name=file, mode="w").write("1")
    gfile.Copy(oldpath=file, newpath=f"{folder}/two.txt", overwrite=True)
    gfile.Rename(oldname=file, newname=f"{folder}/three.txt")

    assert ["three.txt", "two.txt"] == sorted(gfile.ListDirectory(dirname=folder))
    assert [folder] == [at for at, _, _ in gfile.Walk(top=folder, in_order=False)]
    assert not gfile.Exists(filename=file)
    with pytest.raises(TypeError, match="filename"):
        gfile.Exists(path=file)


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "none")

    for act in (
        lambda path: gfile.GFile(path).read(),
        gfile.Remove,
        gfile.DeleteRecursively,
        gfile.Stat,
        gfile.ListDirectory,
    ):
        with pytest.raises(tf1.errors.NotFoundError):
            act(path)
    with pytest.raises(tf1.errors.NotFoundError):
        gfile.Copy(path, f"{path}2")


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)

    for act in (gfile.Copy, gfile.Rename):
        with pytest.raises(tf1.errors.AlreadyExistsError):
            act(str(tmp_path / "a"), str(tmp_path / "b"))
