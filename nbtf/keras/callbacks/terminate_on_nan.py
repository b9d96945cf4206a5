"""What ends training that has gone astray."""

from __future__ import annotations

import math
import sys
from typing import Any

from nbtf.keras.callbacks.callback import Callback


class TerminateOnNaN(Callback):
    """Ends training when the loss is no longer a finite number."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Looks at the loss."""
        results: dict[str, Any] = logs or {}
        loss = results.get("loss")
        if loss is not None and not math.isfinite(loss):
            sys.stdout.write(f"Batch {batch}: Invalid loss, terminating training\n")
            self.model.stop_training = True
