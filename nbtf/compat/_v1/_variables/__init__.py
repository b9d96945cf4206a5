"""The variables of graphs: nodes that name a value which each session keeps for itself."""
