"""Write what prompts are made from: the stored block, search documents and vectors; mask stored memory again."""
