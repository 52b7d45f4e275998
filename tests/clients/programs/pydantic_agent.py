"""pydantic-ai: an agent with a structured output and a tool, asked twice, and one that answers in words."""

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel


class Choice(BaseModel):
    name: str
    engine: str


model = OpenAIChatModel("small")
agent = Agent(model, output_type=Choice, instructions="Extract the choice.")
first = agent.run_sync("The ledger gets PostgreSQL 16.")
agent.run_sync("And the archive?", message_history=first.all_messages())

both = Agent(model, output_type=Choice)


@both.tool_plain
def look_up(engine: str) -> str:
    """Look an engine up."""
    return f"{engine} is there."


both.run_sync('Which engine, with a look? [[call look_up {"engine": "PostgreSQL"}]]')
plain = Agent(model)
said = plain.run_sync("We decided on Redis 7 for the cache.")
plain.run_sync("Who runs it?", message_history=said.all_messages())
