"""Graphs: what they are, where they come from, and the subgraphs that workers receive."""
