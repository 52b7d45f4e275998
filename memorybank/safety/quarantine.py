"""Quarantine lines that instruct a model: they wait for review and reach no prompt.

Three checks, all linear: marks of prompts and protocols, phrases of each language's pack, and the topics of a sentence
(``injection_rules``). Tuned on ``tests/memorybank/safety/corpus``: every attack there is caught and no sentence from
ordinary work is. This is one of several defences: memory is also quoted as data, cited, and shown to people.
"""

import re
from collections.abc import Callable, Iterator

from memorybank.language import Words, alternation, fill_in, packs
from memorybank.language.safety_sections import InjectionPatterns
from memorybank.safety.deobfuscation import deobfuscate
from memorybank.safety.injection_rules import (
    CONCEALMENT,
    OVERRIDE,
    PERSONA,
    REVEAL,
    STANDING,
    injection_reason,
    without_examples,
)

ROLE = "forges a role, heading or control token"
TOOL = "forges a tool call"
EXFILTRATION = "sends data away"
#: A text with more words and spaces is not searched for the telling words: every word costs a check.
MAX_PIECES = 200


def reason(text: str) -> str:
    """Why ``text`` must not be shown to a model, or "" if it may. Linear in its length."""
    visible = deobfuscate(text)
    if _ROLE_HEADING.search(visible):
        return ROLE
    folded = without_examples(visible).casefold()
    return next((why for why, pattern in _PATTERNS if pattern.search(folded)), "") or injection_reason(visible)


def is_normative(why: str) -> bool:
    """Whether a line quarantined for this reason says how to behave, so that it may bind its author.

    Otherwise it carries something: markup of a tool, a link, a forged role. That binds nobody.
    """
    return bool(why) and why not in (ROLE, TOOL, EXFILTRATION)


def telling_words(text: str) -> list[tuple[str, bool]]:
    """``text`` in pieces, each with whether it is one of the words that make it read like an instruction.

    Found by leaving words out, until leaving out any other word would end the instruction.
    """
    pieces = re.findall(r"\s+|\S+", text)
    kept = dict(enumerate(pieces)) if len(pieces) <= MAX_PIECES and reason(text) else {}
    for number in list(kept):
        if not pieces[number].isspace() and reason("".join(kept[other] for other in kept if other != number)):
            del kept[number]
    return [(piece, number in kept and not piece.isspace()) for number, piece in enumerate(pieces)]


def reason_in_message(text: str, by: str = "") -> str:
    """Why no part of a message by an author called ``by`` may be shown: a part of it instructs a model.

    Marks of prompts alone are no reason, because people also write about them.
    """
    visible = deobfuscate(text)
    folded = without_examples(visible).casefold()
    reasons = (why for why, pattern in _PATTERNS if why not in (ROLE, TOOL) and pattern.search(folded))
    return next(reasons, "") or injection_reason(visible, by)


_ROLE_HEADING = re.compile(
    r"(?:^|[.!?\]\n] )\W{0,4}(?:SYSTEM|ASSISTANT|DEVELOPER|ADMIN|ROOT|SYSTEM PROMPT|SYSTEM MESSAGE|SYSTEM OVERRIDE)\s?:"
    r"|(?:BEGIN|END)(?: OF)? (?:SYSTEM )?(?:PROMPT|INSTRUCTIONS|MEMORY|TRANSCRIPT|CONTEXT)\b"
    r"|^#{1,6} ?(?:SYSTEM|POLICY)\b"
)

# Control tokens, markup and links: the same in every language.
_FORMS_BY_REASON: dict[str, tuple[str, ...]] = {
    ROLE: (
        r"<\|?/?(?:im_start|im_end|im_sep|endoftext|endofprompt|system|user|assistant|end_of_turn|start_of_turn|eot_id|begin_of_text|end_of_text|start_header_id|end_header_id|fim_\w+|channel|message|bos|eos|instructions?|admin|developer|human)\|?>",
        # A chat message as JSON: role and content.
        r"[\"'](?:role|author|speaker|sender)[\"']\s?:\s?[\"'][^\"']{1,80}[\"'].{0,120}[\"']\w{2,20}[\"']\s?:",
        r"<\|[^|<>]{1,40}\|>|\[/?inst\]|<</?sys>>|<｜|<\|?(?:begin|end)▁of",
    ),
    TOOL: (
        r"</?(?:tool_calls?|function_calls?|tool_use|tool_result|invoke|function|antml:\w+)\b[^<>]{0,200}>|<(?:tool|function)=",
        r"[\"'](?:name|function|tool|tool_name|recipient_name)[\"']\s?:\s?[\"'{].{1,120}[\"'](?:arguments|parameters|input|args)[\"']\s?:",
        r"[\"']?\b(?:tool_calls|function_call)\b[\"']?\s?:\s?[\[{]",
        r"\bto=functions\.|\bfunctions\.\w{1,40}\(|^action\s?: .{1,80}action input\s?:",
        r"\[tool_(?:calls?|results?)\]",
    ),
    EXFILTRATION: (
        r"!\[[^\]]{0,200}\]\(\s?(?:https?:)?//[^)\s]{1,300}[?&=#{]",
        r"https?://[^\s)]{1,300}(?:\{[^}]{0,60}\}|\$\{|%7b|<[a-z _]{2,40}>|\[[a-z _]{2,40}\])",
        r"\bjavascript\s?:|\bdata\s?:text/html",
    ),
}
_SECTIONS_BY_REASON: dict[str, Callable[[InjectionPatterns], Words]] = {
    ROLE: lambda section: section.role,
    TOOL: lambda section: section.tool,
    EXFILTRATION: lambda section: section.exfiltration,
    OVERRIDE: lambda section: section.override,
    PERSONA: lambda section: section.persona,
    STANDING: lambda section: section.standing,
    REVEAL: lambda section: section.reveal,
    CONCEALMENT: lambda section: section.concealment,
}


def _language_patterns(of: Callable[[InjectionPatterns], Words]) -> Iterator[str]:
    """The patterns of every language, with their parts filled in."""
    for section in (pack.instructions for pack in packs()):
        parts = {name: f"(?:{alternation(words)})" for name, words in section.parts.items()}
        yield from (fill_in(pattern, parts) for pattern in of(section))


_PATTERNS = tuple(
    (
        why,
        re.compile("|".join(f"(?:{pattern})" for pattern in (*_FORMS_BY_REASON.get(why, ()), *_language_patterns(of)))),
    )
    for why, of in _SECTIONS_BY_REASON.items()
)
