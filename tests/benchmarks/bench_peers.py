"""Compares layers and kernels with TensorFlow, PyTorch, NumPy and Keras 3: `python tests/benchmarks/bench_peers.py`.

Has three sections: `layers`, forward and with gradients; `kernels`; and `models`, which are whole training steps.
Measures CPU seconds with one thread. Each peer runs in its own process; they take turns, case by case, and the fastest
block of all rounds counts. The peer `keras` is the real Keras on nbtf. A peer that is not installed is skipped. To use
one from another environment, pass `--python tf=/other/environment/bin/python`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

ROUNDS = 7
BLOCK_SECONDS = 0.03
PEERS = ("nbtf", "keras", "tf", "torch", "numpy")
ROOT = Path(__file__).resolve().parents[2]


class Case(NamedTuple):
    """A measured expression and its preparation, for TensorFlow's API, for PyTorch and for NumPy."""

    name: str
    prepare: str
    tf: str
    torch: str = ""
    numpy: str = ""


# An array `a`, weights `k`, and a function `f` of a tensor and the weights, for both libraries.
IMAGES = "a = draw({images}); k = draw({filters}) * 0.1"
CONVOLUTIONS = {
    "conv 3x3, 28x28, 1 -> 32": ((64, 28, 28, 1), (3, 3, 1, 32), 1, "VALID"),
    "conv 3x3, 13x13, 32 -> 64": ((64, 13, 13, 32), (3, 3, 32, 64), 1, "VALID"),
    "conv 3x3, 56x56, 64 -> 64": ((8, 56, 56, 64), (3, 3, 64, 64), 1, "SAME"),
    "conv 7x7 by 2, 224x224, 3 -> 64": ((4, 224, 224, 3), (7, 7, 3, 64), 2, "SAME"),
    "conv 7x7, 28x28, 128 -> 1": ((16, 28, 28, 128), (7, 7, 128, 1), 1, "SAME"),
}
POOLS = {
    "max pool 2x2, 56x56, 64": ("max_pool2d", 2),
    "max pool 3x3 by 2, 56x56, 64": ("max_pool2d", 3),
    "average pool 2x2, 56x56, 64": ("avg_pool2d", 2),
}
LAYERS = {
    "gelu, 1000000": ((1000, 1000), "tf.nn.gelu(x)", "F.gelu(x)", "", ""),
    "dropout, 1000000": ((1000, 1000), "tf.nn.dropout(x, 0.5)", "F.dropout(x, 0.5)", "", ""),
    "batch normalization, 64x28x28x32": (
        (64, 28, 28, 32),
        "layer(x, training=True)",
        "layer(x)",
        "layer = tf.keras.layers.BatchNormalization()",
        "layer = torch.nn.BatchNorm2d(32); a = a.transpose(0, 3, 1, 2)",
    ),
    "layer normalization, 64x128x256": (
        (64, 128, 256),
        "layer(x)",
        "layer(x)",
        "layer = tf.keras.layers.LayerNormalization()",
        "layer = torch.nn.LayerNorm(256)",
    ),
    "LSTM 64, 32x20x32": (
        (32, 20, 32),
        "layer(x)",
        "layer(x)[0]",
        "layer = tf.keras.layers.LSTM(64, return_sequences=True)",
        "layer = torch.nn.LSTM(32, 64, batch_first=True)",
    ),
    "GRU 64, 32x20x32": (
        (32, 20, 32),
        "layer(x)",
        "layer(x)[0]",
        "layer = tf.keras.layers.GRU(64, return_sequences=True)",
        "layer = torch.nn.GRU(32, 64, batch_first=True)",
    ),
}
GRADIENTS = {
    "tf": "def both():\n    with tf.GradientTape() as tape:\n        tape.watch(x)\n"
    "        y = tf.reduce_sum({call})\n    return tape.gradient(y, watched)",
    "torch": "def both():\n    y = ({call}).sum()\n    return torch.autograd.grad(y, watched)",
}


def both_ways(name: str, prepare: str, calls: dict[str, str], more: dict[str, str]) -> Iterator[Case]:
    """Yields a layer's forward case, and a case for the gradients of `x` and the layer's weights."""
    code = {peer: "\n".join((prepare, more[peer], GRADIENTS[peer].format(call=calls[peer]))) for peer in calls}
    yield Case(f"{name}: forward", repr(code), calls["tf"], f"no_grad(lambda: {calls['torch']})")
    yield Case(f"{name}: both", repr(code), "both()", "both()")


def layers() -> Iterator[Case]:
    """Yields the cases of this section."""
    variables = {
        "tf": "x, w = tf.constant(a), tf.constant(k)\nwatched = [x, w]",
        "torch": "x = turned(a)\nw = leaf(k.transpose(3, 2, 0, 1))\nwatched = [x, w]",
    }
    for name, (images, filters, stride, padding) in CONVOLUTIONS.items():
        size = filters[0] // 2 if padding == "SAME" else 0
        calls = {
            "tf": f"tf.nn.conv2d(x, w, {stride}, {padding!r})",
            "torch": f"F.conv2d(x, w, stride={stride}, padding={size})",
        }
        yield from both_ways(name, IMAGES.format(images=images, filters=filters), calls, variables)
    depthwise = {
        "tf": "layer = tf.keras.layers.DepthwiseConv2D(3, padding='same')\nx = tf.constant(a)\nlayer(x)\n"
        "watched = [x, *layer.trainable_weights]",
        "torch": "layer = torch.nn.Conv2d(64, 64, 3, padding=1, groups=64)\nx = turned(a)\n"
        "watched = [x, *layer.parameters()]",
    }
    calls = {"tf": "layer(x)", "torch": "layer(x)"}
    yield from both_ways("depthwise 3x3, 56x56, 64", "a = draw((8, 56, 56, 64))", calls, depthwise)
    for side, filters, stride in (("4x4 by 2, 14x14", (4, 4, 64, 128), 2), ("5x5, 7x7", (5, 5, 128, 128), 1)):
        length = int(side.split("x")[-1])
        shape = (32, length, length, filters[3])
        result = [32, length * stride, length * stride, filters[2]]
        calls = {
            "tf": f"tf.nn.conv2d_transpose(x, w, {result}, {stride})",
            "torch": f"F.conv_transpose2d(x, w, stride={stride}, padding={(filters[0] - stride) // 2})",
        }
        name = f"transposed {side}, {filters[3]} -> {filters[2]}"
        yield from both_ways(name, IMAGES.format(images=shape, filters=filters), calls, variables)
    for name, (function, size) in POOLS.items():
        plain = {"tf": "x = tf.constant(a)\nwatched = [x]", "torch": "x = turned(a)\nwatched = [x]"}
        calls = {"tf": f"tf.nn.{function}(x, {size}, 2, 'VALID')", "torch": f"F.{function}(x, {size}, 2)"}
        yield from both_ways(name, "a = draw((8, 56, 56, 64))", calls, plain)
    for name, (shape, of_tf, of_torch, more_tf, more_torch) in LAYERS.items():
        weights = {"tf": "layer.trainable_weights", "torch": "layer.parameters()"} if more_tf else {}
        more = {
            peer: f"{extra}\nx = {to}(a)\n{'layer(x)' if extra else ''}\nwatched = [x, *{weights.get(peer, '[]')}]"
            for peer, extra, to in (("tf", more_tf, "tf.constant"), ("torch", more_torch, "leaf"))
        }
        yield from both_ways(name, f"a = draw({shape})", {"tf": of_tf, "torch": of_torch}, more)


NUMBERS = "x = constant(draw(({count},)))"
IDS = "x = constant(draw((100_000,))); ids = constant(np.random.default_rng(1).integers(0, 1000, 100_000))"
TEXTS = "x = constant([f'Gray wolf number {i}, {i % 7}' for i in range(10_000)])"


def kernels() -> Iterator[Case]:
    """Yields the cases of the section."""
    numbers = NUMBERS.format(count=100_000)
    yield Case("sort, 100000", numbers, "tf.sort(x)", "torch.sort(x)", "np.sort(x)")
    yield Case("sort down, 100000", numbers, "tf.sort(x, direction='DESCENDING')", "", "np.sort(x)[::-1]")
    yield Case("argsort, 100000", numbers, "tf.argsort(x)", "torch.argsort(x)", "np.argsort(x, kind='stable')")
    whole = "x = constant(np.random.default_rng(1).integers(-10**6, 10**6, 100_000).astype('int32'))"
    yield Case("sort, 100000 int32", whole, "tf.sort(x)", "torch.sort(x)", "np.sort(x)")
    best = "np.argpartition(x, -10)[-10:]"
    yield Case("top_k 10, 100000", numbers, "tf.math.top_k(x, 10)", "torch.topk(x, 10)", best)
    rows = "x = constant(draw((1000, 1000)))"
    yield Case("top_k 5, 1000x1000", rows, "tf.math.top_k(x, 5)", "torch.topk(x, 5)", "np.argpartition(x, -5)[:, -5:]")
    for name, prepare, best in (
        ("", IDS, "np.bincount(ids, x, 1000).astype('float32')"),
        ("x16", IDS.replace("(100_000,)", "(100_000, 16)"), ""),
    ):
        call = "tf.math.unsorted_segment_sum(x, ids, 1000)"
        into = "torch.zeros((1000, *x.shape[1:])).index_add_(0, ids, x)"
        yield Case(f"unsorted_segment_sum, 100000{name}", prepare, call, into, best)
    ordered = IDS.replace("ids = constant(", "ids = constant(1 * np.sort(").replace("100_000))", "100_000)))")
    reduceat = "np.add.reduceat(x, np.flatnonzero(np.diff(ids, prepend=-1)))"
    yield Case("segment_sum, 100000", ordered, "tf.math.segment_sum(x, ids)", "", reduceat)
    yield Case("normal, 1000000", "", "tf.random.normal((1_000_000,))", "torch.randn(1_000_000)", "normal(1_000_000)")
    yield Case("uniform, 1000000", "", "tf.random.uniform((1_000_000,))", "torch.rand(1_000_000)", "rand(1_000_000)")
    for name in ("lower(x)", "length(x)", "strip(x)", "substr(x, 5, 4)", "regex_full_match(x, '.*7')", "split(x)"):
        yield Case(f"strings.{name}, 10000", TEXTS, f"tf.strings.{name}")
    yield Case("strings.regex_replace, 10000", TEXTS, r"tf.strings.regex_replace(x, '[aeiou]', '-')")
    yield Case("strings.regex_replace \\1, 10000", TEXTS, r"tf.strings.regex_replace(x, '(w)o', '\\1-')")
    yield Case("strings.join, 10000", TEXTS, "tf.strings.join([x, x], '-')")
    yield Case("strings.to_number, 10000", "x = constant([f'{i}.5' for i in range(10_000)])", "tf.strings.to_number(x)")
    yield Case("strings.as_string, 10000", NUMBERS.format(count=10_000), "tf.strings.as_string(x)")


DIGITS = """
from sklearn.datasets import load_digits
digits = load_digits()
x, y = (digits.images / 16).astype("float32")[..., None], digits.target
layers = tf.keras.layers
"""
CNN = """
model = tf.keras.Sequential([
    tf.keras.Input((8, 8, 1)), layers.Conv2D(16, 3, padding="same", activation="relu"), layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"), layers.Flatten(), layers.Dense(64, activation="relu"),
    layers.Dense(10),
])
"""
MLP = """
model = tf.keras.Sequential([
    tf.keras.Input((8, 8, 1)), layers.Flatten(), layers.Dense(128, activation="relu"),
    layers.Dense(64, activation="relu"), layers.Dense(10),
])
"""
COMPILE = """
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
"""

# Based on the last example of Keras' guide "Writing a training loop from scratch".
GAN = """
layers = tf.keras.layers
def bent():
    return layers.LeakyReLU(negative_slope=0.2)
D = tf.keras.Sequential([
    tf.keras.Input((28, 28, 1)), layers.Conv2D(64, 3, strides=2, padding="same"), bent(),
    layers.Conv2D(128, 3, strides=2, padding="same"), bent(), layers.GlobalMaxPooling2D(), layers.Dense(1),
])
G = tf.keras.Sequential([
    tf.keras.Input((128,)), layers.Dense(7 * 7 * 128), bent(), layers.Reshape((7, 7, 128)),
    layers.Conv2DTranspose(128, 4, strides=2, padding="same"), bent(),
    layers.Conv2DTranspose(128, 4, strides=2, padding="same"), bent(),
    layers.Conv2D(1, 7, padding="same", activation="sigmoid"),
])
loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
of_d, of_g = tf.keras.optimizers.Adam(3e-4), tf.keras.optimizers.Adam(4e-4)
real = tf.constant(draw((64, 28, 28, 1)))
labels = tf.concat([tf.ones((64, 1)), tf.zeros((64, 1))], 0)
@tf.function
def step():
    images = tf.concat([G(tf.random.normal((64, 128))), real], 0)
    with tf.GradientTape() as tape:
        cost = loss(labels + 0.05 * tf.random.uniform((128, 1)), D(images))
    weights = D.trainable_weights
    of_d.apply_gradients(zip(tape.gradient(cost, weights), weights))
    noise = tf.random.normal((64, 128))
    with tf.GradientTape() as tape:
        cost = loss(tf.zeros((64, 1)), D(G(noise)))
    weights = G.trainable_weights
    of_g.apply_gradients(zip(tape.gradient(cost, weights), weights))
    return cost
"""


def models() -> Iterator[Case]:
    """Yields the cases of this section; in TensorFlow, both are compiled graphs."""
    for name, model in {"an MLP": MLP, "a CNN": CNN}.items():
        fit = "model.fit(x, y, batch_size=64, epochs=1, verbose=0)"
        yield Case(f"fit of {name} on the digits, an epoch", DIGITS + model + COMPILE, fit)
    yield Case("step of the GAN of Keras' guide", GAN, "float(step())")


SECTIONS: dict[str, Callable[[], Iterator[Case]]] = {"layers": layers, "kernels": kernels, "models": models}


# In a peer's process


def names_of(peer: str) -> dict[str, Any]:
    """Returns the names that a peer's statements may use."""
    import numpy as np

    generator = np.random.default_rng(0)
    names: dict[str, Any] = {"np": np, "draw": lambda shape: generator.standard_normal(shape, dtype="float32")}
    if peer == "numpy":
        own = np.random.default_rng(0)
        return names | {
            "constant": np.asarray,
            "normal": lambda count: own.standard_normal(count, dtype="float32"),
            "rand": lambda count: own.random(count, dtype="float32"),
        }
    if peer == "torch":
        import torch  # pyright: ignore[reportMissingImports]

        torch.set_num_threads(1)

        def leaf(array: Any) -> Any:
            return torch.from_numpy(np.ascontiguousarray(array)).requires_grad_()

        def no_grad(call: Callable[[], Any]) -> Any:
            with torch.no_grad():
                return call()

        return names | {
            "torch": torch,
            "F": torch.nn.functional,
            "leaf": leaf,
            "turned": lambda array: leaf(array.transpose(0, 3, 1, 2)),
            "no_grad": no_grad,
            "constant": lambda values: torch.from_numpy(np.asarray(values)),
        }
    tf: Any = __import__("tensorflow" if peer == "tf" else "nbtf")
    if peer == "keras":
        tf.present_as_tensorflow()
        tf.keras = __import__("keras")
    return names | {"tf": tf, "constant": tf.constant}


def seconds_of(peer: str, case: Case) -> Iterator[float]:
    """Yields the cost of a call, block by block."""
    space, code = names_of(peer), case.prepare
    if code.startswith("{"):
        code = eval(code)["torch" if peer == "torch" else "tf"]
    exec(code, space)
    expression = {"torch": case.torch, "numpy": case.numpy}.get(peer, case.tf)
    call = eval(f"lambda: {expression}", space)
    call()
    calls = 1
    while True:
        began = process_time()
        for _ in range(calls):
            call()
        took = process_time() - began
        if took < BLOCK_SECONDS:
            calls *= 2
            continue
        yield took / calls


def serve(peer: str) -> None:
    """Answers each case's name with the seconds per call, or `-` if the peer lacks this case."""
    cases = {case.name: case for section in SECTIONS.values() for case in section()}
    running: dict[str, Iterator[float]] = {}
    if find_spec({"tf": "tensorflow"}.get(peer, peer)) is None:
        return
    print("ready", flush=True)
    for line in sys.stdin:
        case = cases[line.strip()]
        if not {"torch": case.torch, "numpy": case.numpy}.get(peer, case.tf):
            print("-", flush=True)
            continue
        if case.name not in running:
            running = {case.name: seconds_of(peer, case)}  # releases the objects of the previous case
        try:
            print(next(running[case.name]), flush=True)
        except Exception as error:  # a peer that fails is shown like a peer that lacks the case
            if not isinstance(error, StopIteration):  # otherwise an earlier round has printed the error
                print(f"{peer}: {case.name}: {error!r}", file=sys.stderr)
            print("-", flush=True)


# In the main process


class Worker:
    """A peer's process."""

    def __init__(self, peer: str, executable: str) -> None:
        threads = ("OMP", "OPENBLAS", "MKL", "TF_NUM_INTRAOP", "TF_NUM_INTEROP")
        environment = os.environ | {f"{name}_{'THREADS' if 'TF' in name else 'NUM_THREADS'}": "1" for name in threads}
        environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
        pipe = subprocess.PIPE
        command = [executable, __file__, "--serve", peer]
        errors = None if peer == "nbtf" else subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True, env=environment)
        self.ready = self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def seconds(self, case: Case) -> float | None:
        """Returns the cost of a call; None if the peer lacks this case."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{case.name}\n")
        self.process.stdin.flush()
        line = self._line()
        return None if line in ("", "-") else float(line)


def main() -> None:
    """Prints one line per case: its cost, and the ratio to each peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--only", default="", help="only cases whose names contain this")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--python", action="append", default=[], metavar="PEER=EXECUTABLE")
    options = parser.parse_args()
    elsewhere = dict(pair.split("=", 1) for pair in options.python)
    workers = {peer: Worker(peer, elsewhere.get(peer, sys.executable)) for peer in PEERS}
    workers = {peer: worker for peer, worker in workers.items() if worker.ready}
    for section in options.sections.split(","):
        cases = [case for case in SECTIONS[section]() if options.only in case.name]
        print(f"{section:42}{'nbtf ms':>10}" + "".join(f"{'x ' + peer:>10}" for peer in workers if peer != "nbtf"))
        for case in cases:
            best: dict[str, float] = {}
            for _ in range(options.rounds):
                for peer, worker in workers.items():
                    seconds = worker.seconds(case)
                    if seconds is not None:
                        best[peer] = min(seconds, best.get(peer, seconds))
            own = best.get("nbtf")
            ratios = [f"{own / best[peer]:10.2f}" if own and peer in best else f"{'-':>10}" for peer in workers]
            print(f"{case.name:42}{'-' if own is None else f'{1000 * own:10.3f}'}" + "".join(ratios[1:]), flush=True)


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["--serve"] else main()
