"""The memory of one prompt: its texts, which of its lines an answer cites, and which words it quotes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memorybank.core.attribution import SentenceCitation, citations
from memorybank.core.memory_line import EMPTY_TEXT, MemoryLine, Text
from memorybank.core.quotes import LineWords, PrivateWord, Quotes, find_quotes, find_read_words
from memorybank.language.terms import terms


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """The shared block and the asker's personal part for the system prompt, and notes beside the newest message.

    ``version`` names the stored block (0: there is none), ``made_at`` says when it was rendered; ``is_current`` unless
    memory has changed since. ``is_on`` if the bank is switched on, ``is_kept`` if the chat keeps this block already.
    """

    block: Text = EMPTY_TEXT
    recalled: Text = EMPTY_TEXT
    personal: Text = EMPTY_TEXT
    version: int = 0
    made_at: datetime | None = None
    is_current: bool = True
    is_on: bool = False
    is_kept: bool = False
    #: The notes beside earlier messages, as they were given.
    earlier: tuple[Text, ...] = ()
    #: The words of the block, for :meth:`quoted`.
    block_words: LineWords = field(default_factory=LineWords, repr=False, compare=False)
    #: The words of all other lines.
    other_words: LineWords = field(default_factory=LineWords, repr=False, compare=False)
    #: Words of private chats that the prompt has from elsewhere, because a program read them.
    read_words: Mapping[str, PrivateWord] = field(default_factory=dict, repr=False, compare=False)

    @property
    def system(self) -> str:
        """The text for the system prompt: the block, the same for everybody, then the asker's personal part."""
        return "\n\n".join(filter(None, (self.block.text, self.personal.text)))

    @property
    def lines(self) -> tuple[MemoryLine, ...]:
        """All lines of this message's memory: those of the block, the personal part and the recalled notes."""
        return (*self.block.lines, *self.personal.lines, *self.recalled.lines)

    @property
    def is_private(self) -> bool:
        """Whether the prompt has memory for the asker that not everybody may read."""
        texts = (self.personal, self.recalled, *self.earlier)
        return bool(self.read_words) or any(line.private for text in texts for line in text.lines)

    def cited(self, answer: str, *, elsewhere: Iterable[str]) -> list[SentenceCitation]:
        """The ``lines`` that each sentence of an answer uses; ``elsewhere`` is the rest of its prompt."""
        known = frozenset(word for text in elsewhere for word in terms(text))
        return citations(answer, [f"{line.speaker} {line.text}" for line in self.lines], elsewhere=known)

    def quoted(self, answer: str, *, question: str) -> Quotes:
        """What an answer repeats: words that only private lines have or that a program read, and public chats."""
        others = [line for text in (self.personal, self.recalled, *self.earlier) for line in text.lines]
        quotes = find_quotes(answer, question, others, [self.block_words, self.other_words])
        return quotes._replace(words=quotes.words | find_read_words(answer, question, self.read_words))
