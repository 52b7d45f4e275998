"""What a person typed is parted from what their client put around it."""

import pytest

from projects.gateway.messages import assistant_message, parse_request, user_message
from projects.gateway.typed_words import Quotation, part, quotes_conversation

PLAN = "We decided on Oracle 23ai."
RETRIEVED = f"""### Task:
Answer the question from the context; cite only where the <source> tag has an id.

<context>
<source id="1" name="plan.pdf">{PLAN}</source>
</context>

Which database do we use?"""

#: Longer than what is read of a message's end.
LONG_LOG = "a line of a log\n" * 10_000


def test_a_retrieved_context_is_a_document_and_its_template_is_nobodys_words() -> None:
    parted = part(RETRIEVED)
    assert parted.typed == "Which database do we use?"
    [quotation] = parted.quoted
    assert (quotation.role, PLAN in quotation.text) == ("document", True)


@pytest.mark.parametrize(
    ("text", "typed", "quoted"),
    [
        ("<system-reminder>\nToday is Monday.\n</system-reminder>\nHello?", "Hello?", []),
        ("<environment_context>\n<cwd>/home</cwd>\n</environment_context>", "", []),
        ("Look:\n<tool_result>\n22 degrees\n</tool_result>\nIs it warm?", "Look:\n\n\nIs it warm?", ["tool"]),
        (f"<context>\n{PLAN}\n</context>\n<user_query>\nWhich one?\n</user_query>", "Which one?", ["document"]),
        (
            "<task>\nRename the class.\n</task>\n<environment_details>\nx\n</environment_details>",
            "Rename the class.",
            [],
        ),
        (f"Use this.\n\n{PLAN}\n\nQuestion: Which one?\nHelpful Answer:", "Which one?", ["document"]),
        (f"Attached document(s):\n```md# plan.md\n{PLAN}\n```\nIs that so?", "Is that so?", ["document"]),
        ("What is wrong here?\n<ul>\n<li>one\n</ul>", "What is wrong here?", ["document"]),
    ],
)
def test_what_a_client_added_is_parted_by_its_structure(text: str, typed: str, quoted: list[str]) -> None:
    parted = part(text)
    assert parted.typed == typed
    assert [quotation.role for quotation in parted.quoted] == quoted


@pytest.mark.parametrize(
    "text",
    [
        "We take PostgreSQL 16, and that is decided.",
        "Is a < b, and b > c?",
        "Make <b>this</b> bold, please.",
        "Write a haiku about <nothing>.",
        "My list:\n- one\n- two",
        "The plan:\n```\nstep one\n```\nDo you agree?",
        "<p>\nan open paragraph",
        "Three things to settle:\nOwner: Priya\nDate: 9 June\nCost:",
    ],
)
def test_what_people_type_stays_theirs(text: str) -> None:
    assert part(text).typed == text
    assert part(text).quoted == ()


def test_lines_of_the_system_prompt_at_the_end_of_a_message_are_the_programs() -> None:
    rules = ["Return the whole file, in one fenced block.", "Never leave a line out of it."]
    system = frozenset([*rules, "Be an expert."])
    assert part("Rename the class.\n\n" + "\n".join(rules), system).typed == "Rename the class."
    assert part(rules[0], system).typed == rules[0], "there would be nothing left"
    assert part("Be an expert.", system).typed == "Be an expert."


def test_a_long_page_of_open_elements_is_read_in_one_pass() -> None:
    text = "<br>\n<p>one\n" * 20_000
    assert part(text).typed == text.strip()


def test_an_element_may_hold_others_of_its_name() -> None:
    parted = part("<doc>\n<doc>\ninner\n</doc>\n</doc>\nWhat is it?")
    assert parted.typed == "What is it?"
    assert parted.quoted == (Quotation("document", "doc", "<doc>\ninner\n</doc>"),)


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("Summarise:\nUSER: hi\nASSISTANT: Hello.", True),
        ("# USER\nhi\n# ASSISTANT\nHello.", True),
        ("Human: hi\nAI: Hello.", True),
        ('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]', True),
        ("User stories: the user says hi.", False),
        ("Anna: hi\nBen: Hello.", False),
        (f"User: {LONG_LOG}\nAssistant: Hello.", True),
        (f"{LONG_LOG}\nUser: hi\nAssistant: Hello.\n{LONG_LOG}", False),
    ],
)
def test_a_quoted_conversation_is_known_by_its_two_sides(text: str, quotes: bool) -> None:
    assert quotes_conversation(text) is quotes


def test_a_failed_validation_belongs_to_the_turn_that_it_corrects() -> None:
    error = "Correct it:\n1 validation error for Choice\nengine\n  Value error [type=value_error, input_type=str]"
    question, feedback = user_message("Which engine?", [], 0), user_message(error, [], 2)
    assert question and feedback
    request = parse_request([question, assistant_message('{"engine": ""}', [], 1), feedback])
    assert request and request.question.text == "Which engine?"
    assert [item["role"] for item in request.between] == ["assistant", "tool"]


def test_an_error_that_a_person_asks_about_is_their_question() -> None:
    error = "How do I mend this?\n1 validation error for Choice"
    first, second = user_message("Which engine?", [], 0), user_message(error, [], 2)
    assert first and second
    request = parse_request([first, assistant_message("PostgreSQL.", [], 1), second])
    assert request and request.question.text == error
