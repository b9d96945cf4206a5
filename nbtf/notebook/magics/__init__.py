"""What a person types: magics, their options and completion, and the tables that they print."""
