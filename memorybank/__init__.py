"""Project memory for LLM chats: cited facts, rolled up under a token budget."""
