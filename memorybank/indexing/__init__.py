"""Write what prompts are made from: block, search documents, vectors, which fact replaces which; mask it again."""
