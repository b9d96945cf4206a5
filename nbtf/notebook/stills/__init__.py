"""Pictures that stay: what the views tell, drawn for outputs that are saved, printed or read without a kernel."""
