"""Does the runtime stand a million ops, eight threads, and requests that cannot be met?"""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._record.events import Reason
from nbtf._record.recorder import Recorder
from nbtf._runtime.scopes import SCOPE
from nbtf.errors import ResourceExhaustedError
from tests.machines import LOCAL, MIB, SCRATCH, machine
from tests.rings import with_nightly
from tests.threads import in_threads


def in_use() -> list[int | None]:
    gc.collect()
    return [device.in_use for device in tf.runtime.devices() if device.device_type == "GPU"]


# Many ops

STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """The memory of this process; 0 where the system does not say."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if STATM.exists() else 0


@pytest.mark.parametrize("half", with_nightly([200_000], [500_000]))
def test_recorded_ops_take_no_memory_and_are_all_counted(half: int) -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    recorder = Recorder(100_000)
    stop = tf.runtime.start_recorder(recorder)

    def run_half() -> tuple[int, int]:
        for _ in range(half):
            tf.negative(x)
        gc.collect()
        return sys.getallocatedblocks(), resident_bytes()

    blocks, resident = run_half()
    more_blocks, more_resident = run_half()
    stop()

    taken = recorder.snapshot(last=1)
    assert {("Neg", f"{LOCAL}CPU:0", Reason("no GPU")): 2 * half} == taken.ops
    assert (2 * half, 4 * half, 100_000) == (taken.executed, taken.heard, len(recorder.snapshot().events))
    assert more_blocks - blocks < half / 10  # what waits to be counted
    assert more_resident - resident < 4 * MIB  # 8 bytes an op


def test_ops_on_a_simulated_gpu_leave_nothing_behind() -> None:
    with machine(1):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])

        def run() -> int:
            for _ in range(10_000):
                tf.negative(x)
            gc.collect()
            return sys.getallocatedblocks()

        blocks = run()
        assert run() - blocks < 1000  # earlier tests may leave objects that appear now: a tenth of one per op
        assert [SCRATCH + 256] == in_use()


# Eight threads


def test_threads_lose_no_byte_and_no_event_and_keep_their_scopes() -> None:
    with machine(4, "Tesla K20m"):
        tf.constant(1.0)
        recorder, wrong = Recorder(), list[Any]()
        stop = tf.runtime.start_recorder(recorder)
        placed = [Counter[str]() for _ in range(8)]

        def work(number: int) -> None:
            dice, held, counts = random.Random(number), list[Any](), placed[number]
            for _ in range(150):
                outer, inner = f"GPU:{dice.randrange(4)}", f"GPU:{dice.randrange(4)}"
                with tf.device(outer):
                    x = tf.ones([dice.randrange(1, 2000)])
                    with tf.device(inner):
                        y = tf.negative(x)  # copied from the other card
                    z = tf.negative(y)
                if [f"{LOCAL}{outer}", f"{LOCAL}{inner}", f"{LOCAL}{outer}"] != [x.device, y.device, z.device]:
                    wrong.append((x.device, y.device, z.device))
                if float(tf.reduce_sum(z).numpy()) != x.shape[0]:
                    wrong.append(z)
                counts[inner] += 1
                counts[outer] += 1
                held += [x, y, z]
                del held[: dice.randrange(len(held))]
            if SCOPE() is not None:
                wrong.append(SCOPE())

        in_threads(work)
        stop()

        negated = {device[len(LOCAL) :]: n for (op, device, _), n in recorder.snapshot().ops.items() if op == "Neg"}
        assert [] == wrong
        assert [SCRATCH] * 4 == in_use()
        assert dict(sum(placed, Counter[str]())) == negated


def test_threads_have_cell_devices_of_their_own() -> None:
    with machine(8):
        wrong: list[str] = []

        def work(number: int) -> None:
            for _ in range(100):
                undo = tf.runtime.cell_device(f"GPU:{number}")
                device = tf.negative([1.0]).device
                undo()
                if device != f"{LOCAL}GPU:{number}":
                    wrong.append(device)

        in_threads(work)

        assert ([], f"{LOCAL}GPU:0") == (wrong, tf.negative([1.0]).device)


def test_threads_that_fill_a_card_get_their_memory_or_an_error() -> None:
    with machine(1):
        gpu = tf.config.list_physical_devices("GPU")[0]
        tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=64)])
        tf.constant(1.0)
        outcomes = Counter[str]()

        def work(number: int) -> None:
            for _ in range(50):
                try:
                    kept = [tf.ones([MIB]) for _ in range(4)]  # 16 MiB; eight threads want 128
                    assert 4 * MIB == sum(int(tf.reduce_sum(one).numpy()) for one in kept)
                    outcomes["fits"] += 1
                except ResourceExhaustedError:
                    outcomes["full"] += 1

        in_threads(work)

        assert outcomes["fits"] > 0
        assert 400 == sum(outcomes.values())
        assert [SCRATCH] == in_use()


def test_listeners_that_come_and_go_disturb_no_op() -> None:
    x = tf.constant([1.0, 2.0])
    done = threading.Event()

    def work(number: int) -> None:
        if number:
            for _ in range(2000):
                assert [-1.0, -2.0] == tf.negative(x).numpy().tolist()
            done.set()
        else:
            while not done.is_set():
                tf.runtime.observe(lambda event: None)()

    in_threads(work, 4)


# Requests that cannot be met


def test_tensor_that_does_not_fit_is_refused_with_sizes_and_holders() -> None:
    with machine(1, "Tesla K20m", TF_DEVICE_MIN_SYS_MEMORY_IN_MB="5056"):
        with tf.runtime.recording():
            kept = tf.constant([[1.0] * 1024] * 1024)
        others = [tf.ones([1000]) for _ in range(3)]
        line = test_tensor_that_does_not_fit_is_refused_with_sizes_and_holders.__code__.co_firstlineno + 3
        before = in_use()

        with pytest.raises(ResourceExhaustedError) as caught:
            tf.matmul(tf.ones([8192, 1]), tf.ones([1, 8192]))
        first, second, title, *rows = caught.value.message.splitlines()
        words = [row.split() for row in rows]

        assert f"OOM when allocating tensor with shape[8192,8192] and type float on {LOCAL}GPU:0 by allocator" in first
        assert second.startswith("simulated GPU:0 (Tesla K20m): 256 MiB requested, 4.1 of 64 MiB in use.")
        assert "What holds it:" == title
        assert ["4", "MiB", "float32", "[1024,", "1024]", "_EagerConst", "test_stress.py,", "line", str(line)] == words[
            0
        ]
        assert ["12", "KiB", "3", "x", "float32", "[1000]", "Fill"] in words
        assert ["1.2", "KiB", "uint8", "[1028]", "scratch"] in words
        del caught
        assert before == in_use()
        assert [MIB, 3000] == [int(tf.reduce_sum(kept).numpy()), sum(int(tf.reduce_sum(one).numpy()) for one in others)]
        assert 32 * MIB == tf.ones([8, MIB]).numpy().nbytes


TOO_LARGE_FOR_THIS_COMPUTER = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
import nbtf as tf
tf.runtime.simulate_gpus(1, "P100", "16GiB")  # of which TensorFlow leaves 500 MiB to others; on a V100 it is more
kept = tf.constant([1.0, 2.0])
for device in ("GPU:0", "CPU:0"):
    try:
        with tf.device(device):
            tf.ones([15 << 28])
    except tf.errors.ResourceExhaustedError as error:
        print(error)
print(tf.reduce_sum(kept).numpy(), tf.config.experimental.get_memory_info("GPU:0")["current"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the address space")
def test_tensor_that_only_the_card_could_hold_is_refused_and_the_process_lives() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", TOO_LARGE_FOR_THIS_COMPUTER],
        capture_output=True,
        text=True,
        check=True,
        cwd=str(Path(tf.__path__[0]).parent),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # its threads take address space, too
    )

    first, second, cpu, numpy, alive = ran.stdout.splitlines()
    assert f"OOM when allocating tensor with shape[4026531840] and type float on {LOCAL}GPU:0 by allocator" in first
    assert second.startswith("15 GiB requested: simulated GPU:0 has 15.5 GiB free, this computer 0.")
    assert f"OOM when allocating tensor with shape[4026531840] and type float on {LOCAL}CPU:0 by allocator cpu" in cpu
    assert numpy.startswith("Unable to allocate 15.0 GiB")
    assert f"3.0 {SCRATCH + 256}" == alive
