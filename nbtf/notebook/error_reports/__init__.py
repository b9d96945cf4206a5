"""Reports on error texts: as text for a terminal, and with a picture for a notebook."""
