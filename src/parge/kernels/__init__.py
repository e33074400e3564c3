"""Compiled loops: plain functions over plain arrays, importing nothing else of ours but the decorator."""
