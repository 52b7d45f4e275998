# aider: a message with a file, and a commit message.
git init -q . && git config user.email ann@acme.example && git config user.name Ann
echo "print(1)" > a.py && git add a.py && git commit -q -m "Begin" && echo "print(2)" > a.py
export OPENAI_API_BASE="$OPENAI_BASE_URL"
set -- --model openai/small --no-check-update --no-show-model-warnings --analytics-disable --yes-always --no-stream
aider "$@" --no-auto-commits --no-dirty-commits --message "We decided on PostgreSQL 16 for the ledger." a.py
aider "$@" --commit
