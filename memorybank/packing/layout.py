"""Chosen facts → text: one paragraph per chat or period, oldest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from memorybank.packing.choosing import Item
from memorybank.packing.values import Line

HEADINGS = ("Months:", "Weeks:", "Days:", "Conversations:")


@dataclass(frozen=True, slots=True)
class Section:
    """A run of paragraphs under a title; ``tiers`` says whether they stand under tier headings."""

    title: str
    items: Sequence[Item]
    tiers: bool = False


def ordered(items: Sequence[Item]) -> list[Item]:
    """Coarsest tier first, then by period; in a paragraph a chat and a speaker stay together."""
    chats: dict[tuple[object, ...], object] = {}
    speakers: dict[tuple[object, ...], object] = {}
    by_time = sorted(items, key=lambda item: (item.fact.at, item.fact.id))
    for item in by_time:
        moment = (item.fact.at, item.fact.id)
        chats.setdefault((*item.paragraph, item.fact.chat), moment)
        speakers.setdefault((*item.paragraph, item.fact.chat, item.fact.speaker), moment)
    return sorted(
        by_time,
        key=lambda item: (
            item.paragraph,
            chats[(*item.paragraph, item.fact.chat)],
            speakers[(*item.paragraph, item.fact.chat, item.fact.speaker)],
        ),
    )


def written(header: str, sections: Sequence[Section]) -> str:
    """The whole text; "" when no section has a fact."""
    lines: list[str] = []
    for section in sections:
        if section.items:
            lines += [section.title] if section.title else []
            lines += paragraphs(section)
    return "\n".join([header, *lines] if header and lines else lines)


def paragraphs(section: Section) -> list[str]:
    """The section's paragraphs, with tier headings where it has several tiers."""
    several = section.tiers and len({item.fact.tier for item in section.items}) > 1
    lines: list[str] = []
    last: Item | None = None
    for item in ordered(section.items):
        if several and (last is None or last.fact.tier != item.fact.tier):
            lines.append(HEADINGS[item.fact.tier])
        if last is None or last.paragraph != item.paragraph:
            lines.append(one_line(item.fact.label) or "-")
            last_speaker = ""
        else:
            last_speaker = last.fact.speaker
        if item.fact.speaker and item.fact.speaker != last_speaker:
            lines[-1] += f" {one_line(item.fact.speaker)}:"
        lines[-1] += f" {item.text}"
        last = item
    return lines


def one_line(text: str) -> str:
    """Whitespace of any kind as single spaces."""
    return " ".join(text.split())


def shown(sections: Sequence[Section]) -> tuple[Line, ...]:
    """Every fact of the block in the order it stands there."""
    return tuple(
        Line(
            ids=tuple(item.ids),
            text=item.text,
            tier=item.fact.tier,
            period=item.fact.period,
            label=item.fact.label,
            chat=item.fact.chat,
            speaker=item.fact.speaker,
        )
        for section in sections
        for item in ordered(section.items)
    )
