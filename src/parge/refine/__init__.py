"""Passes over the whole graph after the merge, one file each."""
