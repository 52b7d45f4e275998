"""What tools said in a turn, as a prompt tells it beside the message that it was for."""

from typing import Any

from memorybank import conf
from memorybank.compaction import tool_transcript
from memorybank.llm import prompt_files


def told(messages: Any) -> str:
    """The messages of an output that are calls and results, as fenced data; "" if there are none."""
    lines = tool_transcript.lines(messages, encoding=conf.current().encoding) if messages else []
    return prompt_files.render("tools", {"lines": lines}) if lines else ""
