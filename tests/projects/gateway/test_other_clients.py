"""Third-party clients of the gateway, used as their users use them: LangChain, the llm tool, curl."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.gateway_site import PROJECTS, Gateway

pytestmark = [pytest.mark.own_servers]

OUR_PROJECT = PROJECTS[0]
QUESTION = "What was decided?"


def langchain(served: Gateway, project: str, **more: Any) -> Any:
    from langchain_openai import ChatOpenAI  # seconds

    return ChatOpenAI(model="small", base_url=served.base_url, api_key=served.key(project), max_retries=0, **more)


def by_langchain(served: Gateway, project: str, text: str) -> str:
    return str(langchain(served, project).invoke([("system", "Be brief."), ("human", text)]).content)


def by_langchain_in_pieces(served: Gateway, project: str, text: str) -> str:
    pieces = [str(piece.content) for piece in langchain(served, project).stream(text)]
    assert len(pieces) > 2
    return "".join(pieces)


def by_llm(served: Gateway, project: str, text: str, *options: str) -> str:
    """Run the command with a separate home directory, whose one file names the gateway."""
    home = served.site.data / "llm"
    home.mkdir(exist_ok=True)
    named = f"- model_id: memory\n  model_name: small\n  api_base: {served.base_url}\n  api_key_name: memory\n"
    (home / "extra-openai-models.yaml").write_text(named, encoding="utf-8")
    command = [sys.executable, "-m", "llm", "prompt", "-m", "memory", "--key", served.key(project), *options, text]
    return _said(command, env={"PATH": os.environ["PATH"], "HOME": str(home), "LLM_USER_PATH": str(home)})


def by_curl(served: Gateway, project: str, text: str) -> str:
    body = json.dumps({"model": "small", "stream": True, "messages": [{"role": "user", "content": text}]})
    headers = [f"Authorization: Bearer {served.key(project)}", "Content-Type: application/json"]
    given = [part for header in headers for part in ("--header", header)]
    answer = _said(["curl", "-sSN", "--fail", f"{served.base_url}/chat/completions", *given, "--data", body])
    events = [line.removeprefix("data: ") for line in answer.splitlines() if line.startswith("data: ")]
    assert events.pop() == "[DONE]"
    chosen = [choice for event in events for choice in json.loads(event)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in chosen)


def _said(command: list[str], **more: Any) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PROCESS_TIMEOUT_SECONDS, check=False, **more)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout.strip()


CLIENTS: dict[str, tuple[Callable[[Gateway, str, str], str], str]] = {
    "langchain": (by_langchain, "PostgreSQL 16"),
    "langchain, streaming": (by_langchain_in_pieces, "Grimsvale"),
    "llm": (by_llm, "17 May 2026"),
    "curl": (by_curl, "Solace"),
}


@pytest.fixture(scope="module")
def decided(site_of_module: Gateway) -> None:
    """A decision recorded in one chat by each client, already summarised."""
    for client, (say, what) in CLIENTS.items():
        assert say(site_of_module, OUR_PROJECT, f"We decided for {what}.").startswith("You said: We decided"), client
    site_of_module.summarise(OUR_PROJECT)


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_chat_is_told_what_the_first_decided_and_no_other_project_or_tenant_is(
    served: Gateway, client: str
) -> None:
    say, what = CLIENTS[client]
    for project in PROJECTS:
        assert say(served, project, QUESTION).startswith(f"You said: {QUESTION}")  # what follows are recalled notes
        sent = served.upstream.seen[-1].raw.decode()
        assert all((codeword in sent) is (project == OUR_PROJECT) for _, codeword in CLIENTS.values()), project
        assert what not in json.dumps([turn["question"] for turn in served.turns(project)]) or project == OUR_PROJECT


def test_tools_of_langchain_are_called_and_answered_in_one_turn(served: Gateway) -> None:
    from langchain_core.messages import HumanMessage, ToolMessage

    def weather(city: str) -> str:
        """How the weather is."""
        return f"Sunny in {city}."

    model = langchain(served, OUR_PROJECT).bind_tools([weather])
    messages: list[Any] = [HumanMessage("How is the weather in Paris?")]
    messages.append(model.invoke(messages))
    [call] = messages[1].tool_calls
    assert (call["name"], call["args"]) == ("weather", {"city": "Paris"})
    messages.append(ToolMessage(weather(**call["args"]), tool_call_id=call["id"]))
    assert model.invoke(messages).content == "The tool has spoken."
    turn = served.turns()[-1]
    assert (turn["question"], turn["answer"]) == ("How is the weather in Paris?", "The tool has spoken.")
    assert "Sunny in Paris." in json.dumps(turn["messages"])


def test_a_conversation_that_llm_goes_on_with_is_one_chat(served: Gateway) -> None:
    by_llm(served, OUR_PROJECT, "The first thing of a conversation.")
    by_llm(served, OUR_PROJECT, "The second thing of a conversation.", "--continue")
    first, second = served.turns()[-2:]
    assert (first["chat"], second["question"]) == (second["chat"], "The second thing of a conversation.")
