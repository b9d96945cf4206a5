"""The process that predicts: reads a request from standard input and writes the answer to standard output."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout


def main() -> None:
    """Answers one request."""
    request, output = json.load(sys.stdin), os.dup(1)
    os.dup2(2, 1)  # redirects what the program prints below Python
    from nbtf.notebook.prediction.answer import answer  # imported late: loads PyTorch
    from nbtf.notebook.prediction.report import Prediction

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            reply = answer(request)
            reply["text"] = repr(Prediction(reply, request["program"]))
        except (ValueError, NotImplementedError) as error:
            reply = {"refused": str(error)}
    with os.fdopen(output, "w", encoding="utf-8") as stream:
        json.dump(reply, stream)


if __name__ == "__main__":
    main()
