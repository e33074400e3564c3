"""The run folder: what is on disk, how it is checked, and how a run goes on after it was stopped."""
