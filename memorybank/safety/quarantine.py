"""Tell facts from what claims authority: a line that says how to behave, or that carries something for a machine.

A fact may be told to everybody, in its author's name. A *normative* line (what to answer, what everybody must do, what
to show to whom, whose word counts) binds only its author until somebody approves it. What markup, links, forged roles
or encodings *carry* is told to nobody. The forms are in the language packs; all checks are linear. Being wrong costs
little: the author keeps a normative line, and owners approve it with one click.
"""

import re
from collections.abc import Callable, Iterator

from memorybank.language import Words, alternation, fill_in, packs, partial_packs
from memorybank.language.safety_sections import InjectionPatterns
from memorybank.safety.deobfuscation import carries_encoded_text, deobfuscate
from memorybank.safety.rule_signs import SENTENCE_END, is_rule

ROLE = "forges a role, heading or control token"
TOOL = "forges a tool call"
EXFILTRATION = "sends data away"
ENCODED = "carries an encoded text"
OVERRIDE = "tells a model to drop its instructions"
PERSONA = "gives a model another role"
STANDING = "commands every future answer"
REVEAL = "asks for hidden prompts or secrets"
CONCEALMENT = "hides something from the user"
NORMATIVE = "says how to behave or answer"
#: What such a line carries is nobody's rule.
CARRIED = frozenset([ROLE, TOOL, EXFILTRATION, ENCODED])
#: A message with at most this many sentences is judged as a whole: the rest of it frames the rule.
MAX_SENTENCES_JUDGED_TOGETHER = 4
#: A text with more words and spaces is not searched for the telling words: every word costs a check.
MAX_PIECES = 200


def reason(text: str) -> str:
    """Why ``text`` must not be told to everybody, or "" if it may. Linear in its length."""
    visible = deobfuscate(text)
    return _planted(text, visible) or _normative(visible)


def reason_of_note(text: str) -> str:
    """The same of a line that a model worded: it has named the kind of each, so only forms of sentences add to that."""
    visible = deobfuscate(text)
    return _planted(text, visible) or _has_form(visible)


def reason_of_machine(text: str) -> str:
    """The same of what a model said: it advises people all day, so only what is meant for a model counts."""
    return _planted(text, deobfuscate(text))


def reason_in_message(text: str) -> str:
    """Why no part of a person's message may be told to everybody; "" if each of its sentences is judged by itself.

    What surrounds a rule in a short message only frames it. Forged roles are no reason: people also write about them.
    """
    visible = deobfuscate(text)
    folded = visible.casefold()
    orders = (why for why, pattern in _PATTERNS if why not in (ROLE, TOOL) and pattern.search(folded))
    if why := next(orders, ""):
        return why
    is_short = sum(map(bool, SENTENCE_END.split(text))) <= MAX_SENTENCES_JUDGED_TOGETHER
    if not is_short:
        return ""
    planted = _planted(text, visible)
    return _normative(visible) if planted in ("", ROLE) else planted


def _planted(text: str, visible: str) -> str:
    """Why a text is meant for a model: it forges something, hides something, or gives orders to a model."""
    if _ROLE_HEADING.search(visible):
        return ROLE
    if carries_encoded_text(text):
        return ENCODED
    folded = visible.casefold()
    return next((why for why, pattern in _PATTERNS if pattern.search(folded)), "")


def _normative(visible: str) -> str:
    return _has_form(visible) or (NORMATIVE if is_rule(visible) else "")


def _has_form(visible: str) -> str:
    folded = visible.casefold()
    return NORMATIVE if any(form.search(folded) for form in _NORMATIVE_FORMS) else ""


def is_normative(why: str) -> bool:
    """Whether a line quarantined for this reason is a rule of its author, which may bind its author."""
    return bool(why) and why not in CARRIED


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
        r"[<‹]/?(?:tool_calls?|function_calls?|tool_use|tool_result|invoke|function|antml:\w+)\b[^<>‹›]{0,200}[>›]|[<‹](?:tool|function)=",
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


def _normative_forms() -> Iterator[re.Pattern[str]]:
    """The forms of every language, parts within parts filled in."""
    for section in (*(pack.normative for pack in packs()), *(pack.normative for pack in partial_packs())):
        parts = {name: f"(?:{alternation(words)})" for name, words in section.parts.items()}
        for form in section.sentences:
            yield re.compile(fill_in(fill_in(form, parts), parts))


_NORMATIVE_FORMS = tuple(_normative_forms())
