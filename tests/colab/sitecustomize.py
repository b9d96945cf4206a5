"""Makes each Python that finds this folder on its path one of Colab's, whose kernels have imported `google.colab`."""

import google.colab.output  # noqa: F401  # pyright: ignore[reportUnusedImport]
