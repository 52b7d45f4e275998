"""OpenAI's SDK: two turns of a chat, and two of Responses."""

from openai import OpenAI

client = OpenAI()
messages = [{"role": "user", "content": "We decided on PostgreSQL 16 for the ledger."}]
answer = client.chat.completions.create(model="small", messages=messages).choices[0].message.content
messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": "And when do we move?"}]
client.chat.completions.create(model="small", messages=messages, user="ann")

first = client.responses.create(model="small", input="We decided on Redis 7 for the cache.", store=False)
items = [{"role": "user", "content": "We decided on Redis 7 for the cache."}, *first.output]
items.append({"role": "user", "content": "Who runs it?"})
client.responses.create(model="small", input=items, store=False)

# What the upstream keeps goes on by its id.
first = client.responses.create(model="small", input="The port of the ledger is 8443.")
client.responses.create(model="small", input="And of the cache?", previous_response_id=first.id)
conversation = client.conversations.create()
client.responses.create(model="small", input="The ledger's owner is Priya.", conversation=conversation.id)
client.responses.create(model="small", input="Since when?", conversation=conversation.id)
