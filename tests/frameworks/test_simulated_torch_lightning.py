"""Tests that Lightning trains, validates, tests, saves and stops early on a simulated GPU as on the CPU."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    tf.runtime.simulate_gpus(2, model="A100-40GB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


@pytest.fixture
def lightning() -> Any:
    pytest.importorskip("lightning", reason="needs Lightning")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    return import_module("lightning")


def classifier(lightning: Any) -> Any:
    """Returns a small classifier that stores the losses of its training steps."""
    functional = torch.nn.functional

    class Classifier(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
            self.losses: list[float] = []
            self.devices: set[str] = set()

        def training_step(self, batch: Any, _number: int) -> Any:
            inputs, labels = batch
            loss = functional.cross_entropy(self.layers(inputs), labels)
            self.losses.append(loss.item())
            self.devices.add(str(loss.device))
            self.log("training", loss)
            return loss

        def validation_step(self, batch: Any, _number: int) -> None:
            inputs, labels = batch
            self.log("validation", functional.cross_entropy(self.layers(inputs), labels))

        def test_step(self, batch: Any, batch_idx: int) -> None:
            inputs, labels = batch
            assert batch_idx >= 0
            self.log("accuracy", (self.layers(inputs).argmax(1) == labels).float().mean())

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.05)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2)]

    return Classifier


def results(lightning: Any, folder: Path, **options: Any) -> tuple[set[str], list[Any]]:
    """Returns the devices of the losses, and what a whole training run computes."""
    callbacks = import_module("lightning.pytorch.callbacks")
    lightning.seed_everything(1, verbose=False)
    inputs = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
    dataset = torch.utils.data.TensorDataset(inputs, (inputs.sum(1) > 0).long())
    loader = torch.utils.data.DataLoader(dataset, batch_size=16)
    model = classifier(lightning)()
    best = callbacks.ModelCheckpoint(dirpath=folder, monitor="validation", filename="best")
    stopping = callbacks.EarlyStopping("validation", patience=1, min_delta=0.05)
    trainer = lightning.Trainer(
        max_epochs=8,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[best, stopping],
        **options,
    )
    trainer.fit(model, loader, loader)
    validated = trainer.validate(model, loader, verbose=False)
    tested = trainer.test(model, loader, ckpt_path="best", verbose=False)
    saved = type(model).load_from_checkpoint(best.best_model_path, map_location="cpu")
    weights = [parameter.tolist() for parameter in saved.parameters()]
    return model.devices, [trainer.current_epoch, model.losses, validated, tested, weights]


@pytest.mark.filterwarnings("ignore")
def test_lightning_computes_on_one_gpu_what_it_computes_on_the_cpu(lightning: Any, tmp_path: Path) -> None:
    _, expected = results(lightning, tmp_path / "cpu", accelerator="cpu")

    for number, options in enumerate(({"accelerator": "gpu", "devices": 1}, {"accelerator": "auto", "devices": [1]})):
        devices, found = results(lightning, tmp_path / f"gpu{number}", **options)

        assert {f"cuda:{number}"} == devices
        assert expected == found
