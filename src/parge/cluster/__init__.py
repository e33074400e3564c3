"""A graph that no process holds: its shards, the steps that they take together, and `parge embed --sharded`."""
