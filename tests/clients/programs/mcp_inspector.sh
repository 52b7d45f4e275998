# MCP Inspector: the tools of the project, over HTTP.
mcp-inspector --cli "$ADDRESS/mcp" --transport http --header "Authorization: Bearer $OPENAI_API_KEY" --method tools/list
