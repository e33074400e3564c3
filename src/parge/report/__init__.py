"""Reports: what people and programs are told about a run."""
