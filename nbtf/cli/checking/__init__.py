"""Does a notebook still do what is recorded in it? One run in a kernel, and a comparison that knows nbval's marks."""
