"""Anthropic's SDK: two turns, the second with a tool."""

from anthropic import Anthropic

client = Anthropic()
tool = {"name": "weather", "description": "The weather", "input_schema": {"type": "object", "properties": {}}}
messages = [{"role": "user", "content": "We decided on PostgreSQL 16 for the ledger."}]
answer = client.messages.create(model="small", max_tokens=500, messages=messages)
messages += [
    {"role": "assistant", "content": answer.content},
    {"role": "user", "content": "And when? [[call weather {}]]"},
]
called = client.messages.create(model="small", max_tokens=500, messages=messages, tools=[tool])
result = {"type": "tool_result", "tool_use_id": called.content[0].id, "content": "22 degrees"}
messages += [{"role": "assistant", "content": called.content}, {"role": "user", "content": [result]}]
client.messages.create(model="small", max_tokens=500, messages=messages, tools=[tool])
