"""Still pictures of the views, for outputs that are saved, printed or read without a kernel."""
