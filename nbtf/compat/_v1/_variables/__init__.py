"""Graph variables: nodes that name a value, of which each session has its own."""
