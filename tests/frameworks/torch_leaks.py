"""Programs that keep memory of a card, as people ask about them: a notebook's cells, and the holders to name."""

from __future__ import annotations

from typing import Any

NET = """
import torch, torch.nn as nn
net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 128)).cuda()
data = torch.randn(64, 256, device='cuda')
"""
BIG = "import torch, torch.nn as nn\ndef big(): return torch.ones(1 << 18, device='cuda')"
ADAM = "opt = torch.optim.Adam(net.parameters()); net(data).mean().backward(); opt.step(); opt.zero_grad()"
CYCLE = "class Node: pass\nn = Node(); n.me = n"
SUMS = "net(data).square().mean()"

LEAKS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "an error saved": (
        (BIG, "def step():\n    x = big()\n    1 / 0\ntry:\n    step()\nexcept ZeroDivisionError as e:\n    saved = e"),
        {"local `x` of `step` (error `saved`)": ["%xdel saved"]},
    ),
    "an error uncaught": (
        (BIG, "def step():\n    x = big()\n    1 / 0\nstep()"),
        {"local `x` of `step` (last error)": ["%gpu_memory --forget-last-error"]},
    ),
    "an error that a reference cycle keeps": (
        (
            BIG,
            CYCLE,
            "def step():\n    x = big()\n    1 / 0\ntry:\n    step()\nexcept Exception as e:\n    n.e = e\ndel n",
        ),
        {"only a reference cycle, until Python's garbage collector runs": ["import gc; gc.collect()"]},
    ),
    "losses summed with their graphs": (
        (NET, f"total = 0\nfor _ in range(4):\n    loss = {SUMS}\n    total += loss"),
        {
            "total: kept for its backward pass (36 nodes, 12 tensors)": [
                "total = total.item()",
                "loss = loss.item()",
            ]
        },
    ),
    "a loss that is an output as well": (
        (NET, f"loss = {SUMS}\nloss"),
        {"loss, Out[2], one of _, __, ___, _2: kept for its backward pass (11 nodes, 3 tensors)": ["%xdel loss"]},
    ),
    "a graph of gradients": (
        (NET, f"loss = {SUMS}; loss.backward(create_graph=True); del loss"),
        {
            "net: gradients (4 tensors)": ["net.zero_grad()"],
            "net: gradients: kept for its backward pass (20 nodes, 6 tensors)": ["net.zero_grad()"],
            "net: weights (4 tensors)": None,
        },
    ),
    "a graph of gradients beside its loss": (
        (NET, f"loss = {SUMS}; loss.backward(create_graph=True)"),
        {
            "net: gradients: kept for its backward pass (20 nodes, 6 tensors)": [
                "loss = loss.item()",
                "net.zero_grad()",
            ],
        },
    ),
    "a graph of a tensor's gradient": (
        (
            "import torch; w = torch.randn(256, 256, device='cuda', requires_grad=True)",
            "(w @ w).tanh().square().mean().backward(create_graph=True)",
        ),
        {
            "w.grad": ["w.grad = None"],
            "w.grad: kept for its backward pass (13 nodes, 4 tensors)": ["w.grad = None"],
            "w": None,
        },
    ),
    "gradients that only an optimizer leads to": (
        (
            "import torch; opt = torch.optim.SGD([torch.randn(256, 256, device='cuda', requires_grad=True)])",
            "(opt.param_groups[0]['params'][0] ** 2).sum().backward(create_graph=True)",
        ),
        {"opt.param_groups[0]['params'][0].grad": ["opt.zero_grad()"]},
    ),
    "a gradient that a result retains": (
        (NET, "h = net(data); h.retain_grad(); h.mean().backward()"),
        {"h.grad": ["h.grad = None"]},
    ),
    "a graph that is retained": (
        (NET, f"loss = {SUMS}; loss.backward(retain_graph=True)"),
        {"loss: kept for its backward pass (11 nodes, 3 tensors)": ["loss = loss.item()"]},
    ),
    "training resumed from a checkpoint on the card": (
        (
            NET,
            ADAM,
            "import io; f = io.BytesIO(); torch.save({'model': net.state_dict(), 'opt': opt.state_dict()}, f)",
            "f.seek(0); checkpoint = torch.load(f, map_location='cuda')",
            "net.load_state_dict(checkpoint['model']); opt.load_state_dict(checkpoint['opt'])",
        ),
        {
            "opt: optimizer state; the same memory: checkpoint (12 tensors)": ["opt.state.clear()", "%xdel checkpoint"],
            "checkpoint (4 tensors)": ["%xdel checkpoint"],
        },
    ),
    "the state of a model and its optimizer": (
        (NET, ADAM, "best = {'model': net.state_dict(), 'opt': opt.state_dict()}"),
        {
            "net: weights; the same memory: best (4 tensors)": ...,
            "opt: optimizer state; the same memory: best (8 tensors)": ...,
        },
    ),
    "a copy of the best weights": (
        (NET, "import copy; best = copy.deepcopy(net.state_dict())"),
        {"best (4 tensors)": ["%xdel best"]},
    ),
    "a moving average": ((NET, "import copy; ema = copy.deepcopy(net)"), {"ema: weights (4 tensors)": ["%xdel ema"]}),
    "an average of models": (
        (NET, "from torch.optim.swa_utils import AveragedModel; ema = AveragedModel(net)"),
        {"ema: weights (4 tensors)": ["%xdel ema"]},
    ),
    "predictions in a list": (
        (NET, "predictions = [net(data) for _ in range(4)]"),
        {
            "predictions (4 tensors)": ["%xdel predictions"],
            "predictions: kept for backward passes (4 tensors)": ["%xdel predictions"],
        },
    ),
    "predictions without a graph": (
        (NET, "with torch.no_grad():\n    predictions = [net(data) for _ in range(4)]"),
        {"predictions (4 tensors)": ["%xdel predictions"]},
    ),
    "outputs gathered on the first card": (
        (NET, "model = nn.DataParallel(net); outputs = [model(data) for _ in range(3)]"),
        {"outputs (3 tensors)": ["%xdel outputs"], "outputs: kept for backward passes (3 tensors)": ["%xdel outputs"]},
    ),
    "a closure": (
        (BIG, "def make():\n    x = big()\n    return lambda: x.sum()\nf = make()"),
        {"f.<closure> x": ["%xdel f"]},
    ),
    "an output": ((BIG, "big()"), {"Out[2], one of _, __, ___, _2": ["%xdel _2"]}),
    "an output with a name": ((BIG, "x = big()\nx"), {"x, Out[2], one of _, __, ___, _2": ["%xdel x"]}),
    "fragmentation": (
        ("import torch; blocks = [torch.ones(1 << 20, device='cuda') for _ in range(20)]; del blocks[::2]",),
        {"blocks (10 tensors)": ["%xdel blocks"], "PyTorch: unused parts of segments in use": None},
    ),
    "unused segments": (
        ("import torch; x = torch.ones(8 << 20, device='cuda'); y = torch.ones(9, device='cuda'); del x",),
        {
            "PyTorch: kept for later arrays": ["torch.cuda.empty_cache()"],
            "PyTorch: unused parts of segments in use": None,
        },
    ),
    "a hook that keeps activations": (
        (
            NET,
            "acts = []\nnet[0].register_forward_hook(lambda m, i, o: acts.append(o.detach()))",
            "net(data); net(data);",
        ),
        {"acts (2 tensors)": ["%xdel acts"]},
    ),
    "a hook that keeps activations by name": (
        (
            NET,
            "acts = {}\nfor name, module in net.named_modules():\n"
            "    module.register_forward_hook(lambda m, i, o, name=name: acts.__setitem__(name, o))\ndel module",
            "net(data);",
        ),
        {"acts (3 tensors)": ...},
    ),
    "a hook of a tensor": (
        (BIG, "x = big().requires_grad_()\nx.register_hook(lambda grad, y=big(): grad * y);"),
        {"x (2 tensors)": ["%xdel x"]},
    ),
    "a class attribute": (
        (BIG, "class Cache:\n    tensors = {}\nCache.tensors['x'] = big()"),
        {"Cache.tensors['x']": ["del Cache.tensors['x']"]},
    ),
    "a cached function": (
        (BIG, "import functools\n@functools.cache\ndef table(n): return big()\ntable(1);"),
        {"table.<cache>[1]": ["table.cache_clear()"]},
    ),
    "a generator": (
        (BIG, "def batches():\n    x = big()\n    while True: yield x.sum().item()\ng = batches(); next(g);"),
        {"local `x` of `batches` (generator `g`)": ["%xdel g"]},
    ),
    "a thread": (
        (
            BIG,
            "import threading; ready, end = threading.Event(), threading.Event()",
            "def work():\n    x = big(); ready.set(); end.wait(60)",
            "t = threading.Thread(target=work); t.start(); ready.wait();",
        ),
        {"local `x` of `work` (running)": None},
    ),
    "a data class": (
        (BIG, "from dataclasses import dataclass\n@dataclass\nclass Batch:\n    x: object\nb = Batch(big())"),
        {"b.x": ["del b.x"]},
    ),
    "a data class with slots": (
        (
            BIG,
            "from dataclasses import dataclass\n@dataclass(slots=True)\nclass Batch:\n    x: object\nb = Batch(big())",
        ),
        {"b.x": ["del b.x"]},
    ),
    "an iterator of a loader": (
        (
            BIG,
            "from torch.utils.data import DataLoader, TensorDataset",
            "batches = iter(DataLoader(TensorDataset(big().view(4, -1)), batch_size=2)); batch = next(batches)",
        ),
        {},
    ),
    "the context of a function": (
        (
            BIG,
            "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.kept = big()\n"
            "        ctx.save_for_backward(x * 2)\n        return x.sum()\n"
            "    @staticmethod\n    def backward(ctx, g): ...\n"
            "y = F.apply(big().requires_grad_())",
        ),
        {},
    ),
    "a metric": (
        (
            NET,
            "class Mean:\n    def __init__(self): self.values = []\nmetric = Mean()",
            f"for _ in range(3): metric.values.append({SUMS})",
        ),
        {"metric: kept for backward passes (3 tensors)": ["del metric.values"]},
    ),
    "a history by name": (
        (NET, "history = {'loss': []}\nfor _ in range(3): history['loss'].append(net(data).mean())"),
        {"history: kept for backward passes (3 tensors)": ["del history['loss']"]},
    ),
    "a replay buffer": (
        (
            BIG,
            "from collections import deque; replay = deque(maxlen=9)\nfor _ in range(5): replay.append((big(), 1.0))",
        ),
        {"replay (5 tensors)": ["%xdel replay"]},
    ),
    "hidden states that are not detached": (
        (NET, "rnn, h = nn.RNN(256, 256).cuda(), None\nfor _ in range(3): out, h = rnn(data[None], h)"),
        {},
    ),
    "a part of a large tensor": (
        ("import torch; x = torch.ones(1 << 10, 1 << 10, device='cuda')[0]",),
        {"x": ["%xdel x"]},
    ),
    "gradients in a list": (
        (NET, f"{SUMS}.backward(); grads = [p.grad for p in net.parameters()]"),
        {"grads (4 tensors)": None},
    ),
    "a function with arguments": (
        (BIG, "from functools import partial; f = partial(print, big())"),
        {"f.args[0]": ["%xdel f"]},
    ),
    "a default": ((BIG, "def f(x=big()): return x"), {"f.<default> x": ["%xdel f"]}),
    "a set": ((BIG, "s = {big()}"), {"s.<member>": ["%xdel s"]}),
    "the buffer and the cache of a module": (
        (
            BIG,
            "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.register_buffer('pe', big())\n"
            "m = M(); m.cache = big()",
        ),
        {"m.pe": ["%xdel m"], "m.cache": ["%xdel m"]},
    ),
    "garbage": (
        (BIG, f"{CYCLE}; n.x = big(); del n"),
        {"only a reference cycle, until Python's garbage collector runs": ["import gc; gc.collect()"]},
    ),
    "garbage with a graph": (
        (NET, f"{CYCLE}; n.x = {SUMS}; del n"),
        {"only a reference cycle, until Python's garbage collector runs (4 tensors)": ["import gc; gc.collect()"]},
    ),
    "a checkpointed block": (
        (NET, "from torch.utils.checkpoint import checkpoint\nout = checkpoint(net, data, use_reentrant=False)"),
        {"out": ["%xdel out"]},
    ),
    "an optimizer with momentum": (
        (NET, "opt = torch.optim.SGD(net.parameters(), momentum=0.9); net(data).mean().backward(); opt.step()"),
        {"opt: optimizer state (4 tensors)": ["opt.state.clear()"], "net: gradients (4 tensors)": ["net.zero_grad()"]},
    ),
}
"""Name, cells, and the holders that a table must list with their lines; `...` for any lines."""
