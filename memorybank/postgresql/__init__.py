"""Features that need PostgreSQL: row-level security policies that isolate banks, and a vector index (pgvector)."""
