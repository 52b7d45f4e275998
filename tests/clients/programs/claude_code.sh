# Claude Code: a question, with the title that it asks for, and one that starts a sub-agent.
claude -p "We decided on PostgreSQL 16 for the ledger." --model claude-sonnet-4-5
claude -p --continue --model claude-sonnet-4-5 \
    'Look around. [[call Agent {"description":"Count","prompt":"Count the files.","subagent_type":"Explore"}]]'
