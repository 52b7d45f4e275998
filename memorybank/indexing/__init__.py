"""Writing what prompts are made from: the stored block, and the index with its documents, vectors and masks."""
