# llm: a prompt, and one that continues the conversation.
export LLM_USER_PATH="$HOME"
printf -- "- model_id: memory\n  model_name: small\n  api_base: $OPENAI_BASE_URL\n  api_key_name: memory\n" \
    > "$HOME/extra-openai-models.yaml"
llm prompt -m memory --key "$OPENAI_API_KEY" "We decided on PostgreSQL 16."
llm prompt -c -m memory --key "$OPENAI_API_KEY" "And when?"
