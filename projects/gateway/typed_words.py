"""Separate what a person typed from what their client added: documents, tool results, reminders. Pure.

Clients mark additions by elements that begin a line, by a template that ends in a cue, by a label above a fenced file,
or by repeating lines of the system prompt. Nothing here depends on the wording of one client.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

# A pasted log may have a million characters. Before a pattern runs, a substring that it requires is searched for: that
# takes a hundredth of the time.
_OPENING = re.compile(r"^[ \t]*<([A-Za-z][\w.:-]*)((?:\s[^<>\n]*)?)>", re.M)
_NAME = re.compile(r"""\b(?:name|title|source|path|filename)\s*=\s*["']([^"'\n]{1,80})["']""")
_WORD = re.compile(r"[a-z]+")
#: Words in element names that mark a program's notes to the model, a tool's results, and a person's own text.
PROGRAM_WORDS = frozenset("system reminder environment instructions caveat command skills permissions metadata".split())
RESULT_WORDS = frozenset("stdout stderr output outputs result results response observation error errors".split())
TYPED_WORDS = frozenset("query question prompt request message task input feedback".split())
#: A label above a fenced file.
_ATTACHMENT = re.compile(
    r"^[^\n:]{0,80}\b(?:attach|file|document)[^\n:]{0,80}:[ \t]*\n(```+|~~~+)(.*?)^\1[ \t]*$", re.M | re.S | re.I
)
#: A diff as version control prints it.
_DIFF = re.compile(
    r"^(?:diff --git|--- )[^\n]*\n"
    r"(?:(?:[-+@ \\]|index |new file|deleted file|old mode|new mode|similarity|rename )[^\n]*\n?|\n(?=[-+@ ]))*",
    re.M,
)
#: A line that is a heading or a label.
_LABEL_LINE = re.compile(r"^\s*(?:#.*|[^\n]{1,60}:)\s*$")
#: A last line that is only a cue for the model, such as “Answer:”; and a labelled line, such as “Question: …”.
_CUE = re.compile(r"\n[^\n:]{1,30}:\s*\Z")
MAX_CUE_CHARACTERS = 40
_LABELLED = re.compile(r"^([^\n:]{1,30}):[ \t]*(\S[^\n]*)$", re.M)
_VALIDATION_ERROR = re.compile(r"^[ \t]*\d+ validation errors? for |^[ \t]*Traceback \(most recent call last\)", re.M)
#: The names of a conversation's two sides in the protocols, as prompts quote them.
_PERSON_LINE = re.compile(r"^[#*<\[ \t]*(?:user|human)[>*\]]*(?::|[ \t]*$)", re.M | re.I)
_MODEL_LINE = re.compile(r"^[#*<\[ \t]*(?:assistant|ai|model|bot)[>*\]]*(?::|[ \t]*$)", re.M | re.I)
_ROLE_FIELD = re.compile(r"""["']role["']\s*:\s*["'](?:user|assistant)["']""")
#: Fewer characters of the system prompt may end a message by chance.
MIN_REPEATED_CHARACTERS = 40
MAX_QUOTED_NAME_CHARACTERS = 60
#: A quoted conversation shows its two sides within so many characters of the message's beginning and end.
END_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True)
class Quotation:
    """Something that a client put into a person's message. ``role`` is ``document`` or ``tool``."""

    role: str
    name: str
    text: str

    @property
    def recorded(self) -> dict[str, Any]:
        """The separate message that memory stores for the quotation."""
        return {"role": self.role, "name": self.name[:MAX_QUOTED_NAME_CHARACTERS], "content": self.text}


@dataclass(frozen=True, slots=True)
class PartedText:
    """The words that a person typed, and the quotations in their message."""

    typed: str
    quoted: tuple[Quotation, ...] = ()


@dataclass(frozen=True, slots=True)
class _Element:
    name: str
    attributes: str
    start: int
    end: int
    text: str

    @property
    def words(self) -> set[str]:
        separated = re.sub(r"([a-z])([A-Z])", r"\1 \2", self.name).lower()
        return {*_WORD.findall(separated)}

    @property
    def is_of_program(self) -> bool:
        return bool(self.words & PROGRAM_WORDS)

    @property
    def is_typed(self) -> bool:
        return bool(self.words & TYPED_WORDS) and not self.words & (PROGRAM_WORDS | RESULT_WORDS)

    @property
    def quotation(self) -> Quotation:
        named = _NAME.search(self.attributes)
        role = "tool" if self.words & RESULT_WORDS else "document"
        return Quotation(role, named[1] if named else self.name, self.text.strip())


def part(text: str, system_lines: Iterable[str] = ()) -> PartedText:
    """Split a message into typed and quoted text. ``system_lines`` are the lines of the client's system prompt."""
    text, quoted = _without_elements(text)
    text, attached = _without_attachments(text)
    text, changes = _without_changes(text)
    text, filled_in = _without_template(text)
    typed = _without_repeated_lines(text, system_lines).strip()
    return PartedText(typed, (*quoted, *attached, *changes, *filled_in))


def is_validation_error(text: str) -> bool:
    """Whether the text is a library's report of errors in the model's structured answer."""
    return bool(_VALIDATION_ERROR.search(text))


def only_labels(text: str) -> bool:
    """Whether a text has headings and labels only."""
    return all(_LABEL_LINE.match(line) for line in text.splitlines() if line.strip())


def quotes_conversation(text: str) -> bool:
    """Whether a message quotes a conversation of a person with a model, with both sides' role names.

    Of a message longer than two ends of ``END_CHARACTERS`` only these are read.
    """
    if len(text) > 2 * END_CHARACTERS:
        text = f"{text[:END_CHARACTERS]}\n{text[-END_CHARACTERS:]}"
    folded = text.casefold()
    named = ("user" in folded or "human" in folded) and _PERSON_LINE.search(text) and _MODEL_LINE.search(text)
    return bool(named or ("role" in text and len(_ROLE_FIELD.findall(text)) > 1))


def _without_elements(text: str) -> tuple[str, list[Quotation]]:
    elements = list(_elements(text))
    if not elements:
        return text, []
    asked = [element for element in elements if element.is_typed]
    added = [element for element in elements if not element.is_typed]
    quoted = [element.quotation for element in added if not element.is_of_program]
    if asked and (quoted or not "".join(_outside(text, elements)).strip()):
        return "\n".join(element.text for element in asked), quoted
    outside = _outside(text, added)
    if quoted and outside[-1].strip() and _explains(outside[0], added):
        outside = outside[-1:]
    return "\n".join(outside), quoted


def _outside(text: str, elements: Iterable[_Element]) -> list[str]:
    """The text before, between and after the elements."""
    parts, start = [], 0
    for element in elements:
        parts.append(text[start : element.start])
        start = element.end
    return [*parts, text[start:]]


def _explains(before: str, elements: Iterable[_Element]) -> bool:
    """Whether the text before the elements mentions their tags, as a template does to explain them to the model."""
    names = {
        name
        for element in elements
        for name in (element.name, *(inner[1] for inner in _OPENING.finditer(element.text)))
    }
    return any(f"<{name}" in before for name in names)


def _elements(text: str) -> Iterator[_Element]:
    """The outermost elements that begin a line; a program's element without an end tag extends to the text's end."""
    position, unclosed = 0, set[str]()
    while "<" in text and (opening := _OPENING.search(text, position)):
        name, position = opening[1], opening.end()
        if name in unclosed:
            continue
        end = _end(text, name, position)
        element = _Element(name, opening[2], opening.start(), end, text[position : end - len(name) - 3])
        if end < 0:
            unclosed.add(name)
            element = _Element(name, opening[2], opening.start(), len(text), text[position:])
            if not element.is_of_program:
                continue
        yield element
        position = max(position, element.end)


def _end(text: str, name: str, position: int) -> int:
    """The end of the element whose content begins at ``position``; -1 if it has no end tag."""
    depth = 1
    for tag in re.compile(rf"<(/?){re.escape(name)}(?=[\s>])[^<>\n]*>").finditer(text, position):
        depth += -1 if tag[1] else 1
        if not depth:
            return tag.end()
    return -1


def _has(text: str, piece: str) -> bool:
    """Whether the text contains this piece. To search for its last character first takes a twentieth of the time."""
    return piece[-1] in text and piece in text


def _without_attachments(text: str) -> tuple[str, list[Quotation]]:
    if not _has(text, "\n```") and not _has(text, "\n~~~"):
        return text, []
    quoted = [Quotation("document", "file", match[2].strip()) for match in _ATTACHMENT.finditer(text)]
    return (_ATTACHMENT.sub("", text), quoted) if quoted else (text, [])


def _without_changes(text: str) -> tuple[str, list[Quotation]]:
    if not _has(text, "\n@@"):
        return text, []
    quoted = [Quotation("document", "diff", match[0].strip()) for match in _DIFF.finditer(text) if "\n@@" in match[0]]
    return (_DIFF.sub(lambda match: "" if "\n@@" in match[0] else match[0], text), quoted) if quoted else (text, [])


def _without_template(text: str) -> tuple[str, list[Quotation]]:
    """The question of a template that ends in a cue, as in “Context: … Question: … Answer:”; other text as it is."""
    if not _CUE.search(text.rstrip()[-MAX_CUE_CHARACTERS:]) or quotes_conversation(text):
        return text, []
    labelled = [match for match in _LABELLED.finditer(text) if match[2].rstrip().endswith(("?", "？", "؟"))]
    if not labelled:
        return text, []
    return labelled[-1][2], [Quotation("document", "context", text[: labelled[-1].start()].strip())]


def _without_repeated_lines(text: str, system_lines: Iterable[str]) -> str:
    """The text without the lines at its end that repeat the system prompt."""
    if not (known := frozenset(system_lines)):
        return text
    lines = text.splitlines()
    kept = len(lines)
    while kept and (not lines[kept - 1].strip() or lines[kept - 1].strip() in known):
        kept -= 1
    repeated = "\n".join(lines[kept:]).strip()
    return "\n".join(lines[:kept]) if kept and len(repeated) >= MIN_REPEATED_CHARACTERS else text
