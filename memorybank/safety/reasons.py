"""Name the reasons for which a line is quarantined, and say how far it is a report of its author."""

from enum import IntEnum

ROLE = "forges a role, heading or control token"
TOOL = "forges a tool call"
EXFILTRATION = "sends data away"
ENCODED = "carries an encoded text"
OVERRIDE = "tells a model to drop its instructions"
PERSONA = "gives a model another role"
STANDING = "commands every future answer"
REVEAL = "asks for hidden prompts or secrets"
CONCEALMENT = "hides something from the user"
#: A rule in a person's words: it applies to its author, and others are told it as its author's report.
NORMATIVE = "says how to behave or answer"
#: Reasons for which a line applies to nobody, not even to its author.
APPLIES_TO_NOBODY = frozenset([ROLE, TOOL, EXFILTRATION, ENCODED])


class Reported(IntEnum):
    """Whether a line is told as a report: in its author's name and in quotes. True unless it is ``NO``."""

    NO = 0
    #: Others act on what its message says, so only an author who may decide about that is told plainly.
    UNLESS_TRUSTED = 1
    #: Its author pasted it, or it is a rule that waits for an owner.
    ALWAYS = 2


def is_reported(mark: int, *, trusted: bool) -> bool:
    """Whether a line with this mark of :class:`Reported` is told as a report, if its speaker is ``trusted`` or not."""
    return mark > (Reported.UNLESS_TRUSTED if trusted else Reported.NO)


def is_normative(why: str) -> bool:
    """Whether a line quarantined for this reason may still apply to its author, as a rule."""
    return bool(why) and why not in APPLIES_TO_NOBODY
