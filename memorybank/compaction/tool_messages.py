"""What tools said in a turn, as a prompt tells it beside the message that it was for."""

from typing import Any

from memorybank import conf
from memorybank.compaction import tool_transcript
from memorybank.llm import prompt_files


def tools_said(messages: Any) -> str:
    """What tools were asked and said in a turn (an output's ``messages``), as fenced data; "" if nothing.

    Any provider takes it: calls and results are no messages of their own, so none is without the other.
    """
    lines = tool_transcript.lines(messages, encoding=conf.current().encoding) if messages else []
    return prompt_files.render("tools", {"lines": lines}) if lines else ""
