"""Passes over the whole graph after the merge: whiten, propagate, subspace."""
