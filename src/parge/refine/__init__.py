"""Passes over the whole graph after the merge: whiten, settle, propagate, subspace."""
