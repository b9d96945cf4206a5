"""What public functions say to arguments that nobody should give them."""
