"""Distinguish facts from lines that say how to behave, and from lines that carry something for a machine.

A fact is shown to everybody, in its author's name. A *normative* line (what to answer, what everybody must do, what to
show to whom, whose word counts) applies only to its author until somebody approves it. A line that *carries* markup,
links, forged roles or encoded text for a model is shown to nobody. The patterns are in the language packs; all checks
take linear time. A false positive costs little: the author keeps a normative line, and owners approve it in one click.
"""

import re
from collections.abc import Callable, Iterator

from memorybank.language import Words, alternation, fill_in, packs, partial_packs
from memorybank.language.prefilter import Patterns
from memorybank.language.safety_sections import InjectionPatterns
from memorybank.language.work_cache import once_per_work
from memorybank.safety.deobfuscation import carries_encoded_text, deobfuscate
from memorybank.safety.edge_names import is_signed
from memorybank.safety.pasted import is_pasted
from memorybank.safety.reasons import (
    CONCEALMENT,
    ENCODED,
    EXFILTRATION,
    NORMATIVE,
    OVERRIDE,
    PERSONA,
    REVEAL,
    ROLE,
    STANDING,
    TOOL,
    Reported,
)
from memorybank.safety.rule_signs import SENTENCE_END
from memorybank.safety.standing import is_report

#: A message with at most this many sentences is judged as a whole: its other sentences only frame the rule.
MAX_SENTENCES_JUDGED_TOGETHER = 4
#: :func:`telling_words` skips texts with more words and spaces than this, because every word costs a check.
MAX_TELLING_PIECES = 200


@once_per_work
def reason(text: str) -> str:
    """Why ``text`` must not be shown to everybody, or "" if it may. Takes linear time."""
    visible = deobfuscate(text)
    return _planted(text, visible) or _normative(visible)


@once_per_work
def reason_of_machine(text: str) -> str:
    """Like :func:`reason`, for a model's answer: without rules, because models give advice all day."""
    return _planted(text, deobfuscate(text))


@once_per_work
def reason_in_message(text: str) -> str:
    """Why no part of a person's message may be shown to everybody; "" if each of its sentences is judged by itself.

    A short message is judged as a whole, because its other sentences only frame the rule. Forged roles are not a
    reason: people also write about them.
    """
    visible = deobfuscate(text)
    is_short = sum(map(bool, SENTENCE_END.split(text))) <= MAX_SENTENCES_JUDGED_TOGETHER
    of_a_sentence = (ROLE, TOOL) if is_short else (ROLE, TOOL, STANDING)  # in a long message a rule is one among others
    orders = (why for why in _PATTERNS.found(visible.casefold()) if why not in of_a_sentence)
    if why := next(orders, ""):
        return why
    if not is_short:
        return ""
    planted = _planted(text, visible)
    return _normative(visible) if planted in ("", ROLE) else planted


def reported(message: str, author: str) -> Reported:
    """Whether every sentence of a person's message is told as a report.

    A message has one fate, because harmless sentences lend credibility to the rest. It is a report, whoever its author
    is, if it contains pasted text or a line that is a name, or if :func:`reason` objects to it as a whole (forged roles
    do not count, as in :func:`reason_in_message`); and of an author without authority if a sentence of it is one.
    """
    if is_pasted(message, author) or is_signed(message, author=author) or reason(message) not in ("", ROLE, TOOL):
        return Reported.ALWAYS
    sentences = filter(str.strip, SENTENCE_END.split(message))
    return Reported(any(is_report(sentence, names=(), author=author) for sentence in sentences))


def _planted(text: str, visible: str) -> str:
    """The reason if a text is aimed at a model: it forges something, hides something, or gives a model orders."""
    if _ROLE_HEADING.search(visible):
        return ROLE
    if carries_encoded_text(text):
        return ENCODED
    return next(_PATTERNS.found(visible.casefold()), "")


def _normative(visible: str) -> str:
    return next(_NORMATIVE_FORMS.found(visible.casefold()), "")


def is_of_message(text: str, why: str) -> bool:
    """Whether a line with this text and reason is quarantined for another part of its message."""
    return why in (*_SECTIONS_BY_REASON, ENCODED, NORMATIVE) and not reason(text)


def telling_words(text: str) -> list[tuple[str, bool]]:
    """``text`` in words and spaces, each with whether it is a word that makes the text read like an instruction.

    These words remain after removing every word without which :func:`reason` still finds an instruction. A text of more
    than ``MAX_TELLING_PIECES`` pieces has none.
    """
    pieces = re.findall(r"\s+|\S+", text)
    kept = dict(enumerate(pieces)) if len(pieces) <= MAX_TELLING_PIECES and reason(text) else {}
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


_PATTERNS = Patterns(
    (re.compile(pattern), why)
    for why, of in _SECTIONS_BY_REASON.items()
    for pattern in (*_FORMS_BY_REASON.get(why, ()), *_language_patterns(of))
)


def _normative_forms() -> Iterator[re.Pattern[str]]:
    """The patterns of every language, with their parts, and the parts within parts, filled in."""
    for section in (*(pack.normative for pack in packs()), *(pack.normative for pack in partial_packs())):
        parts = {name: f"(?:{alternation(words)})" for name, words in section.parts.items()}
        for form in section.sentences:
            yield re.compile(fill_in(fill_in(form, parts), parts))


_NORMATIVE_FORMS = Patterns((form, NORMATIVE) for form in _normative_forms())
