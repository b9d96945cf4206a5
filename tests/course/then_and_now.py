"""The rows of the *then -> now* tables: a line of an old guide, its replacement, and a program for each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

SESSION = "sess = tf.Session(config=config)"

PRODUCT = """
    a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    c = tf.matmul(a, b)
"""

TOWERS = """
    with tf.device(d):
        a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        towers.append(tf.matmul(a, b))
with tf.device("/cpu:0"):
    c = tf.add_n(towers)
"""


@dataclass(frozen=True)
class Row:
    """A line of an old guide and its replacement. `place` is the line's position in its program."""

    scenarios: str
    what: str
    then: str
    now: str
    place: Literal["start", "block", "towers", "session", "run", "shell"] = "start"
    gpus: int = 4
    asked: str = ""
    """The device that the block requests, in rows about other lines."""
    year: int = 2017

    def environment(self, line: str) -> dict[str, str]:
        """Returns the environment variable that a line sets, if any."""
        return dict(re.findall(r'(CUDA_VISIBLE_DEVICES)"?\]? ?= ?"?([\d,]+)', line))

    def program_then(self) -> str:
        """Returns a program from the time of the guide that contains the line."""
        if self.year == 2019:  # TensorFlow 2.0 alpha: no sessions
            return self._program("nbtf", self.then, "")
        session = self.then if self.place == "session" else SESSION
        run = self.then if self.place == "run" else "sess.run(c)"
        return self._program("nbtf.compat.v1", self.then, f"{session}\n{run}\n")

    def program_now(self) -> str:
        """Returns an equivalent current program."""
        return self._program("nbtf", self.now, self.now if self.place == "run" else "")

    def _program(self, module: str, line: str, end: str) -> str:
        start = "config = tf.ConfigProto()" if module != "nbtf" else 'gpus = tf.config.list_physical_devices("GPU")'
        block = line if self.place in ("block", "towers") else f"with tf.device({self.asked or None!r}):"
        before = line if self.place == "start" or (module == "nbtf" and self.place in ("session", "shell")) else ""
        body = TOWERS if self.place == "towers" else PRODUCT
        return f"import os\nimport {module} as tf\n{start}\ntowers = []\n{before}\n{block}{body}{end}"


CALLS = (
    Row("S03 S19 S64", "run it and print the result", "print(sess.run(c))", "print(c)", "run"),
    Row(
        "S03 S19 S64 S65",
        "list the GPUs and log where ops run",
        "sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))",
        'tf.debugging.set_log_device_placement(True)\nprint(tf.config.list_logical_devices("GPU"))',
        "session",
    ),
    Row("S04 S20", "choose the CPU", "with tf.device('/cpu:0'):", 'with tf.device("CPU:0"):', "block"),
    Row("S12", "choose a GPU", "with tf.device('/gpu:2'):", 'with tf.device("GPU:2"):', "block"),
    Row("S28", "choose a GPU", "with tf.device('/device:GPU:2'):", 'with tf.device("GPU:2"):', "block", year=2018),
    Row(
        "S13 S29",
        "fail if the device is missing",
        "sess = tf.Session()",
        "tf.config.set_soft_device_placement(False)",
        "session",
        gpus=1,
        asked="/device:GPU:2",
    ),
    Row(
        "S14 S30",
        "use another device if it is missing",
        "sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))",
        "tf.config.set_soft_device_placement(True)  # the default",
        "session",
        gpus=1,
        asked="/device:GPU:2",
    ),
    Row("S15", "one tower per GPU", "for d in ['/gpu:2', '/gpu:3']:", 'for d in ["GPU:2", "GPU:3"]:', "towers"),
    Row(
        "S32",
        "one tower per GPU",
        "for d in ['/device:GPU:2', '/device:GPU:3']:",
        'for d in ["GPU:2", "GPU:3"]:',
        "towers",
        year=2018,
    ),
)

_GROW = "for gpu in gpus: tf.config.experimental.set_memory_growth(gpu, True)"


def _limit(fraction: float) -> str:
    return (
        f"limit = tf.config.LogicalDeviceConfiguration(memory_limit={fraction} * 5120)\n"
        "for gpu in gpus: tf.config.set_logical_device_configuration(gpu, [limit])"
    )


OPTIONS = (
    Row("S07 S23", "start small and grow", "config.gpu_options.allow_growth = True", _GROW),
    Row(
        "S61",
        "start small and grow",
        "gpu_options = tf.GPUOptions(allow_growth=True)\nconfig = tf.ConfigProto(gpu_options=gpu_options)",
        _GROW,
        year=2018,
    ),
    Row(
        "S09 S25",
        "use 40 % of each GPU",
        "config.gpu_options.per_process_gpu_memory_fraction = 0.4",
        _limit(0.4),
    ),
    Row(
        "S60",
        "use 70 % of each GPU",
        "gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.7)\n"
        "config = tf.ConfigProto(gpu_options=gpu_options)",
        _limit(0.7),
        year=2018,
    ),
    Row(
        "S52",
        "make one GPU visible",
        "CUDA_VISIBLE_DEVICES=1 python my_script.py",
        'tf.config.set_visible_devices(gpus[1], "GPU")',
        "shell",
        year=2018,
    ),
    Row(
        "S58",
        "make one GPU visible",
        'os.environ["CUDA_VISIBLE_DEVICES"] = "2"',
        'tf.config.set_visible_devices(gpus[2], "GPU")',
        "shell",
        year=2018,
    ),
    Row("S40", "start small and grow", "tf.config.gpu.set_per_process_memory_growth()", _GROW, year=2019),
    Row(
        "S42",
        "use 40 % of each GPU",
        "tf.config.gpu.set_per_process_memory_fraction(0.4)",
        _limit(0.4),
        year=2019,
    ),
)


def table(rows: tuple[Row, ...]) -> str:
    """Returns rows as a Markdown table."""
    lines = ["| then | now |", "|---|---|"]
    for row in rows:
        lines.append(f"| {row.what} ({row.year}):<br>{_code(row.then)} | <br>{_code(row.now)} |")
    return "\n".join(lines)


def _code(lines: str) -> str:
    return "<br>".join(f"`{line}`" for line in lines.splitlines())
