"""Reconciliation: the separate spaces of the subgraphs become one, from the anchors."""
