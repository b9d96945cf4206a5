"""Are a notebook's outputs still as recorded? One run in a kernel, and a comparison that respects nbval's marks."""
