"""File formats of embeddings, one module each; `parge.embedding_files` chooses by suffix."""
