"""What do users type? Magics, their options and completion, and the tables that they print."""
