"""Does the doctor find what is there, and say what each missing thing is for?"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pytest

from nbtf import cli
from nbtf._install import pip_install
from nbtf.cli import doctor
from nbtf.cli.finding import Finding
from nbtf.cli.front_end import EXTENSIONS

EVERYTHING = {"numpy": "2.4.6"} | dict.fromkeys(doctor.LAB_PACKAGES, "8.0.0")
EVERYTHING["anywidget"] = "0.11.0"
EVERYTHING |= {"torch": "2.13.0", "jax": "0.9.1", "jax-cuda13-plugin": "0.9.1", "nvidia-ml-py": "13.590.1"}
OTHER_LIBRARIES = ("PyTorch", "JAX", "nvidia-ml-py")


def found(monkeypatch: pytest.MonkeyPatch, packages: Mapping[str, str]) -> dict[str, Finding]:
    monkeypatch.setattr(doctor, "installed", packages.get)
    monkeypatch.setattr(doctor, "real_gpus", lambda environ: ())
    monkeypatch.setattr(doctor, "import_error", lambda package: None)
    monkeypatch.setattr(doctor, "front_end", lambda: ())
    monkeypatch.setattr(doctor.start_hook, "is_on", lambda: True)
    return {finding.subject: finding for finding in doctor.findings()}


def without(name: str) -> dict[str, str]:
    return {package: version for package, version in EVERYTHING.items() if package != name}


def test_everything_in_place_is_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"ok"} == {finding.state for finding in found(monkeypatch, EVERYTHING).values()}


def test_package_that_is_missing_comes_with_its_purpose_and_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = found(monkeypatch, without("nbclient"))["nbclient"]

    assert Finding("missing", "nbclient", f"for `nbtf run`: {pip_install('lab')}") == finding


@pytest.mark.parametrize(
    ("package", "version"),
    [("ipykernel", "7.0.1"), ("anywidget", "0.8.1"), ("anywidget", "0.12.0"), ("numpy", "1.26.4")],
)
def test_version_that_does_not_work_is_wrong(package: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = found(monkeypatch, EVERYTHING | {package: version})

    assert [version in finding.text for finding in findings.values() if finding.state == "wrong"] == [True]


def test_package_that_cannot_be_imported_is_wrong_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    why = doctor.import_error("anywidget")
    monkeypatch.setattr(doctor, "import_error", {"anywidget": why}.get)

    finding = doctor._lab_package("anywidget", "the live views", "0.11.0")

    assert "wrong" == finding.state
    assert "0.11.0 cannot be imported: ModuleNotFoundError: " in finding.text


def test_doctor_prints_a_line_for_each_and_imports_no_cupy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NBTF_SIMULATED_GPUS", "NBTF_LIVE", "NBTF_GPU"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(doctor, "real_gpus", lambda environ: [Finding("missing", "CuPy", "for real GPUs")])
    cli.main(["doctor"])
    lines = capsys.readouterr().out.splitlines()

    assert 4 + len(doctor.LAB_PACKAGES) + len(EXTENSIONS) + 1 + len(OTHER_LIBRARIES) == len(lines)
    assert {"ok", "missing", "wrong", "note"} >= {line.split()[0] for line in lines}
    assert "cupy" not in sys.modules


@pytest.mark.parametrize(("state", "status"), [("ok", 0), ("missing", 0), ("note", 0), ("wrong", 1)])
def test_status_tells_whether_something_is_wrong(state: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "findings", lambda: iter([Finding("ok", "Python", ""), Finding(state, "CuPy", "")]))

    assert status == cli.main(["doctor"])
