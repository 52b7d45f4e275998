"""LiteLLM: two turns, the second streamed."""

import os

import litellm

where = {"model": "openai/small", "api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}
messages = [{"role": "user", "content": "We decided on PostgreSQL 16 for the ledger."}]
answer = litellm.completion(messages=messages, **where).choices[0].message.content
messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": "And when do we move?"}]
list(litellm.completion(messages=messages, stream=True, **where))
