"""Do processes that this one forks or spawns find free locks, and the machine of their parent?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def printed_by(program: str, folder: Path, **environ: str) -> list[str]:
    """What a program prints that runs in a process of its own; multiprocessing needs it in a file."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NBTF_GPU": "off", **environ}
    run = subprocess.run([sys.executable, path], env=variables, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


# Forks

FORKS = 60


@needs_fork
def test_no_child_hangs_that_is_forked_while_threads_work(tmp_path: Path) -> None:
    program = f"""
        import os, signal, sys, threading, time
        import nbtf as tf

        sys.setswitchinterval(1e-6)
        tf.runtime.simulate_gpus(2, "Tesla K20m")
        recorder = tf.runtime.Recorder()
        tf.runtime.start_recorder(recorder)
        variable, generator = tf.Variable([1.0]), tf.random.Generator.from_seed(1)
        with tf.device("CPU:0"):
            local = tf.Variable([1.0])
        graph = tf.Graph()
        with graph.as_default():
            total = tf.compat.v1.Variable(0.0)
            add, start = tf.compat.v1.assign_add(total, 1.0), tf.compat.v1.global_variables_initializer()
        session = tf.compat.v1.Session(graph=graph)
        session.run(start)
        over = threading.Event()

        def step(number):
            if number % 4 == 0:
                variable.assign_add([1.0])
                local.assign_add([1.0])
            elif number % 4 == 1:
                tf.runtime.observe(lambda event: None)()
                recorder.snapshot(5)
            elif number % 4 == 2:
                generator.normal([2])
                tf.random.normal([2])
                tf.keras.layers.Dense(1)
            else:
                tf.zeros([100]) + 1.0
                session.run(add)
            [device.in_use for device in tf.runtime.devices()]

        def work(number):
            while not over.is_set():
                step(number)

        for number in range(4):
            step(number)
        for number in range(4):
            threading.Thread(target=work, args=[number], daemon=True).start()
        ended = 0
        for _ in range({FORKS}):
            child = os.fork()
            if child == 0:
                signal.alarm(30)  # ends a child that waits for ever
                for number in range(4):
                    step(number)
                os._exit(0)
            ended += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        over.set()
        print(ended)
    """

    assert printed_by(program, tmp_path, PYTHONWARNINGS="ignore") == [str(FORKS)]


@needs_fork
def test_a_child_can_take_every_lock_that_another_thread_held(tmp_path: Path) -> None:
    program = """
        import os, threading
        import nbtf as tf
        from nbtf import _locks

        _locks._PATIENCE = 0.05
        tf.runtime.simulate_gpus(2)
        variable, session = tf.Variable([1.0]), tf.compat.v1.Session(graph=tf.Graph())
        tf.random.normal([2])
        recorder = tf.runtime.Recorder()
        tf.keras.layers.Dense(1)
        held, over = threading.Event(), threading.Event()

        def hold():
            for lock in _locks._all_locks():
                assert lock.acquire()
            held.set()
            over.wait()

        threading.Thread(target=hold, daemon=True).start()
        held.wait()
        child = os.fork()
        if child == 0:
            free = [lock.acquire(blocking=False) for lock in _locks._all_locks()]
            os._exit(0 if len(free) > 8 and all(free) else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        over.set()
    """

    assert printed_by(program, tmp_path, PYTHONWARNINGS="ignore") == ["0"]


def test_no_property_holds_a_lock_that_forks_do_not_look_after() -> None:
    holding = [
        path for path in (ROOT / "nbtf").rglob("*.py") if re.search(r"^\s*@cached_property", path.read_text(), re.M)
    ]

    assert [] == holding  # `computed_once` in nbtf/_locks.py holds none


def test_every_lock_of_the_package_is_one_that_forks_look_after(tmp_path: Path) -> None:
    program = """
        import gc, importlib, pkgutil, sys, threading
        import nbtf as tf
        from nbtf import _locks
        from nbtf._cluster.controller import connect
        from nbtf._cluster.in_process import InProcessEngine

        LOCKS = type(threading.Lock()), type(threading.RLock())
        for module in pkgutil.walk_packages(tf.__path__, "nbtf."):
            if not module.name.endswith(("__main__", "cuda", "dask_engine", "dask_process", "dask_workers")):
                try:
                    importlib.import_module(module.name)
                except ImportError:
                    pass
        tf.runtime.simulate_gpus(2)
        kept = [tf.Variable([1.0]), tf.compat.v1.Session(graph=tf.Graph()), tf.random.normal([2])]
        kept.append(tf.runtime.Recorder())
        kept.append(connect(InProcessEngine({"worker": 1}, 1)))
        kept.append(tf.compat.v1.train.Coordinator())
        if importlib.util.find_spec("IPython"):
            from IPython.core.interactiveshell import InteractiveShell
            from nbtf.notebook.session import SESSIONS
            from nbtf.notebook.views.pump import pump_of

            shell = InteractiveShell.instance()
            shell.run_line_magic("load_ext", "nbtf")
            kept.append(pump_of(SESSIONS[shell]))

        def inner(value):
            if isinstance(value, threading.Event):
                value = value._cond
            return value._lock if isinstance(value, threading.Condition) else value

        def values(thing):
            yield from getattr(thing, "__dict__", {}).values()
            for kind in type(thing).__mro__:
                names = getattr(kind, "__slots__", ())
                for name in (names,) if isinstance(names, str) else names:
                    try:
                        yield getattr(thing, name)
                    except (AttributeError, TypeError):
                        pass

        things = [module for name, module in sys.modules.items() if name.startswith("nbtf")]
        things += [one for one in gc.get_objects() if str(type(one).__module__).startswith("nbtf")]
        things += [one for one in gc.get_objects() if isinstance(one, type) and str(one.__module__).startswith("nbtf")]
        ours = {id(lock) for lock in _locks._all_locks()}
        locks = {id(lock) for thing in things for lock in map(inner, values(thing)) if isinstance(lock, LOCKS)}
        print(len(locks) > 5, locks <= ours)
    """

    assert printed_by(program, tmp_path, PYTHONWARNINGS="ignore", IPYTHONDIR=str(tmp_path))[-1] == "True True"


@needs_fork
def test_a_forked_child_feeds_no_view_of_its_parent(tmp_path: Path) -> None:
    program = """
        import os
        from IPython.core.interactiveshell import InteractiveShell
        from nbtf.notebook.views.pump import pump_of
        from nbtf.notebook.session import SESSIONS

        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "nbtf")
        pump = pump_of(SESSIONS[shell])
        pump.mode = "thread"
        pump._start_thread()
        child = os.fork()
        if child == 0:
            pump._wake.set()
            os._exit(0 if pump._stopped and pump._thread is None and not pump._models else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), pump._thread.is_alive())
        pump.stop()
    """
    pytest.importorskip("IPython")

    assert printed_by(program, tmp_path, PYTHONWARNINGS="ignore", IPYTHONDIR=str(tmp_path))[-1] == "0 True"


# Spawned workers

WORKERS = """
    import multiprocessing, sys
    import nbtf as tf

    def labels(calls):
        if calls:
            tf.runtime.simulate_gpus(1, "Tesla K40c")
        return [device.label for device in tf.runtime.devices()][1:]

    if __name__ == "__main__":
        {parent}
        with multiprocessing.get_context({method!r}).Pool(1) as pool:
            print(pool.apply(labels, [{calls}]), flush=True)
"""


@pytest.mark.parametrize(
    ("method", "parent", "calls", "expected"),
    [
        ("spawn", 'tf.runtime.simulate_gpus(1, "K20m")', False, ["GPU:0 (simulated Tesla K20m)"]),
        ("spawn", 'tf.runtime.simulate_gpus(2, "K20m")', True, ["GPU:0 (simulated Tesla K40c)"]),
        ("spawn", "tf.runtime.simulate_gpus(2); tf.runtime.simulate_gpus(0)", False, []),
        ("forkserver", 'tf.runtime.simulate_gpus(1, "K20m")', False, ["GPU:0 (simulated Tesla K20m)"]),
    ],
    ids=["as the parent", "the worker calls itself", "removed", "of a fork server"],
)
def test_a_worker_has_the_machine_of_its_parent(
    method: str, parent: str, calls: bool, expected: list[str], tmp_path: Path
) -> None:
    printed = printed_by(WORKERS.format(method=method, parent=parent, calls=calls), tmp_path)

    assert str(expected) in printed  # not always the last line: a worker prints what it simulates when it ends


def test_the_call_of_the_parent_wins_over_the_environment_in_workers_too(tmp_path: Path) -> None:
    program = WORKERS.format(method="spawn", parent='tf.runtime.simulate_gpus(1, "K20m", "512MiB")', calls=False)

    printed = printed_by(program, tmp_path, NBTF_SIMULATED_GPUS="4")

    assert printed[-1] == "['GPU:0 (simulated Tesla K20m)']"
