"""OpenAI's Agents SDK: two turns with a tool, by Responses and by chat completions."""

import asyncio

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"22 degrees in {city}"


async def main() -> None:
    chat = OpenAIChatCompletionsModel("small", AsyncOpenAI())
    for model in (chat, "small"):
        settings = ModelSettings(store=False)
        agent = Agent("desk", instructions="Be brief.", model=model, tools=[weather], model_settings=settings)
        kind = "chat" if model is chat else "responses"
        first = await Runner.run(agent, f'Weather by {kind}? [[call weather {{"city": "Paris"}}]]')
        await Runner.run(agent, [*first.to_input_list(), {"role": "user", "content": f"We take the ferry, by {kind}."}])


asyncio.run(main())
