"""What a device is: where arrays live and kernels run."""
