"""Error texts of GPU programs: messages with their causes, look-alikes, generated texts, and hostile ones."""
