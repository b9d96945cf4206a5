"""Does Lightning's DDP strategy have the losses of one process with the same batches? Started by `torchrun`, or alone.

Alone, the Trainer itself starts the second process. The first process prints the largest difference.
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

import lightning
import torch

import nbtf as tf

PROCESSES, BATCH, EPOCHS = 2, 16, 2


def layers() -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))


class Regression(lightning.LightningModule):
    """Predicts a sum, and stores the mean loss of all processes at each step."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = layers()
        self.losses: list[float] = []

    def training_step(self, batch: Any, _number: int) -> Any:
        inputs, targets = batch
        assert str(inputs.device) == f"cuda:{self.global_rank}"
        loss = torch.nn.functional.mse_loss(self.layers(inputs), targets)
        self.losses.append(self.all_gather(loss.detach()).mean().item())
        return loss

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def losses_of_one_process(inputs: Any, targets: Any) -> list[float]:
    model, losses = layers(), list[float]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(EPOCHS):
        for batch in zip(inputs.split(BATCH), targets.split(BATCH), strict=True):
            loss = torch.nn.functional.mse_loss(model(batch[0]), batch[1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def main() -> None:
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    if not torch.cuda.is_available():
        tf.runtime.simulate_gpus(PROCESSES, model="A100-40GB", frameworks="torch")
    inputs = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
    targets = inputs.sum(1, keepdim=True)
    dataset = torch.utils.data.TensorDataset(inputs, targets)
    trainer = lightning.Trainer(
        accelerator="gpu",
        devices=PROCESSES,
        strategy="ddp",
        max_epochs=EPOCHS,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    sampler = torch.utils.data.DistributedSampler(dataset, PROCESSES, trainer.global_rank, shuffle=False)
    model = Regression()
    trainer.fit(model, torch.utils.data.DataLoader(dataset, BATCH // PROCESSES, sampler=sampler))
    if trainer.global_rank == 0:
        expected = losses_of_one_process(inputs, targets)
        differences = [abs(loss - other) for loss, other in zip(model.losses, expected, strict=True)]
        print(f"lightning: {len(expected)} losses, difference {max(differences):.1e}")


if __name__ == "__main__":
    main()
