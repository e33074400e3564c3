"""Files in and out: graphs and embeddings in every format."""
