"""On which device is a variable stored? Every way to create one, with everything that can place it."""
