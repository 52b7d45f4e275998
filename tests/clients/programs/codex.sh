# Codex: a question, and one before which it compacts the conversation.
mkdir -p "$HOME/.codex"
cat > "$HOME/.codex/config.toml" <<END
model = "gpt-5"
model_provider = "memory"
[model_providers.memory]
name = "memory"
base_url = "$OPENAI_BASE_URL"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
END
codex exec --skip-git-repo-check "We decided on PostgreSQL 16 for the ledger." < /dev/null
codex exec --skip-git-repo-check -c model_auto_compact_token_limit=20 resume --last "And when do we move?" < /dev/null
