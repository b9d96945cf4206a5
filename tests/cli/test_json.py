"""Does what commands print as JSON follow the schemas that come with the package?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nbtf import cli
from nbtf._own_files import own_json
from tests.cli.checking.cells import cell, result, save, stream


def printed(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> Any:
    """What a command prints, and follows the schema of its name."""
    assert cli.main(words) == status
    content = json.loads(capsys.readouterr().out)
    name = words[1] if words[0] == "notebooks" else words[0]
    jsonschema.validate(content, own_json("nbtf.cli", f"schemas/{name}.json"))
    return content


def test_devices(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    devices = printed(capsys, 0, "devices", "--json")

    assert devices[0]["name"] == "CPU:0"


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTF_SIMULATED_GPUS", "many")

    findings = printed(capsys, 1, "doctor", "--json")

    assert {"ok", "wrong"} <= {finding["state"] for finding in findings}


def test_check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    save(tmp_path / "a.ipynb", cell("1", result("2")), cell("print('1 s')", stream("2 s\n"), tags=("nbtf-vary=times",)))
    save(tmp_path / "b.ipynb", cell("1", result("1")), nbtf={"needs": ["no_such_module"]})
    save(tmp_path / "c.ipynb", cell("1"), language_info={"name": "julia"})
    (tmp_path / "d.ipynb").write_text("{}")

    told = printed(capsys, 2, "notebooks", "check", str(tmp_path), "--json")["notebooks"]

    assert [Path(each["path"]).stem for each in told] == ["a", "b", "c", "d"]
    assert [each["status"] for each in told] == [1, 0, 0, 2]
    assert [each["state"] for each in told[0]["cells"]] == ["differs", "as recorded"]
    assert (told[0]["cells"][0]["lines"], told[0]["cells"][1]["notes"]) == (
        ["text/plain:", "- 2", "+ 1"],
        ["1 value not compared (times)"],
    )
    assert (told[1]["missing"], told[2]["skipped"]) == (["no_such_module"], "needs Julia")


def test_schemas_refuse_other_content() -> None:
    for name in ("check", "devices", "doctor"):
        schema = own_json("nbtf.cli", f"schemas/{name}.json")
        jsonschema.Draft202012Validator.check_schema(schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate([{"name": 3}], schema)
