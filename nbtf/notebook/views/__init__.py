"""The live views, the data they receive, and how often they receive it."""
