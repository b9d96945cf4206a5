"""Checks nbtf on a machine with a GPU: `python tests/gpu/check.py`.

Takes at most fourteen minutes, works offline and changes no setting.

Each stage runs in its own process, with a time limit, and writes its findings to a file. A crash, or an error that
breaks CUDA for a process, therefore costs only one stage. Results are written to tests/gpu/results/DATE-CARD/, as
`summary.md` and `results.json`.

The exit status is 0 if every check passed, 1 if one failed, and 2 if no GPU is available.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from nbtf._devices.cuda.probe import probe  # noqa: E402  # the folder above must be known first
from tests.gpu.stages import STAGES, Stage  # noqa: E402
from tests.gpu.summary import summary  # noqa: E402

SLACK = 3
"""A stage is stopped after this many times its expected duration."""
FAKE_CARD = "fake GPU, no GPU code executed"


def main(argv: list[str] | None = None) -> int:
    """Runs the program; returns its exit status."""
    args = _arguments(argv)
    found = probe(os.environ)
    if not found.cards and not args.fake:
        print(f"No GPU to check: {found.reason} Run `nbtf doctor` to find out how to fix this.")
        return 2
    card = FAKE_CARD if args.fake else found.cards[0].card.name
    chosen = [one for one in STAGES if args.stage is None or one.number in args.stage]
    print(f"{card}: {len(chosen)} stages{', quick' if args.quick else ''}")
    start = time.time()
    with tempfile.TemporaryDirectory() as folder:
        results = [_said(run(one, Path(folder), args.quick, args.fake)) for one in chosen]
    told: dict[str, Any] = {
        "card": card,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "quick": args.quick,
        "fake": args.fake,
        "seconds": time.time() - start,
        "stages": results,
    }
    folder = args.out or ROOT / "tests" / "gpu" / "results" / f"{told['date']}-{_file_name(card)}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    (folder / "summary.md").write_text(summary(told), encoding="utf-8")
    failed = sum(not one["passed"] for one in results)
    print(f"{'All checks passed' if not failed else f'{failed} stages failed'}: {folder / 'summary.md'}")
    return 1 if failed else 0


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    asked.add_argument("--stage", type=int, action="append", help="run this stage (0 to 18); repeat for several")
    asked.add_argument("--quick", action="store_true", help="repeat less often: about three minutes")
    asked.add_argument("--out", type=Path, help="write the results to this folder")
    asked.add_argument(
        "--fake", action="store_true", help="run on a fake GPU, to test this program; its figures are meaningless"
    )
    return asked.parse_args(argv)


def run(stage: Stage, folder: Path, quick: bool, fake: bool) -> dict[str, Any]:
    """Runs a stage in its own process; returns its findings and its error, if any.

    Args:
      stage: the stage to run.
      folder: folder for temporary files, such as compiled kernels.
      quick: whether to repeat measurements less often.
      fake: whether to use a fake GPU.
    """
    file = folder / f"{stage.number}.json"
    command = [sys.executable, "-m", "tests.gpu.stages", str(stage.number), str(file)]
    command += [f"--{name}" for name, on in (("quick", quick), ("fake", fake)) if on]
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "CUPY_CACHE_DIR": str(folder / "kernels"),
        "CUPY_NVRTC_USE_PCH": "1",  # compiles faster if the CUDA version supports it
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # otherwise JAX reserves three quarters of the card
    }
    start = time.time()
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=stage.seconds * SLACK
        )
        code, said = done.returncode, done.stderr
    except subprocess.TimeoutExpired as error:
        code, said = -1, f"stopped after {error.timeout:.0f} s"
    told: dict[str, Any] = {"number": stage.number, "name": stage.name, "seconds": time.time() - start, "code": code}
    told |= json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"checks": [], "targets": []}
    told["error"] = "" if code == 0 else said[-2000:]
    told["passed"] = code == 0 and all(one["passed"] for one in [*told["checks"], *told["targets"]])
    return told


def _said(told: dict[str, Any]) -> dict[str, Any]:
    """Prints one line for a stage and one for each failure; returns the findings."""
    passed = sum(one["passed"] for one in [*told["checks"], *told["targets"]])
    of = len(told["checks"]) + len(told["targets"])
    word = "ok    " if told["passed"] else "FAILED"
    print(f"{told['number']:>2}  {told['name']:<36} {word} {told['seconds']:6.1f} s  {passed} of {of}", flush=True)
    for one in told["checks"]:
        if not one["passed"]:
            print(f"      {one['what']}: {one['detail'][-200:]}")
    for one in told["targets"]:
        if not one["passed"]:
            print(f"      {one['what']}: {one['measured']:.3g} {one['unit']}, limit {one['must']:g}")
    if told["error"]:
        print(f"      {told['error'].strip().splitlines()[-1][:200]}")
    return told


def _file_name(card: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")


if __name__ == "__main__":
    sys.exit(main())
