# opencode: a question, with the title that it asks for.
cat > opencode.json <<END
{"model": "memory/small", "small_model": "memory/small", "autoupdate": false, "provider": {"memory": {
  "npm": "@ai-sdk/openai-compatible", "name": "memory", "models": {"small": {"name": "small"}},
  "options": {"baseURL": "$OPENAI_BASE_URL", "apiKey": "$OPENAI_API_KEY"}}}}
END
opencode run "We decided on PostgreSQL 16 for the ledger."
