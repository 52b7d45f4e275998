"""The words of turns as memory reads them, with which erasure compares what was derived from them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from memorybank.core import transcript
from memorybank.language import dates
from memorybank.language.terms import terms
from memorybank.models import Bank, MaskedValue, Output
from memorybank.safety.redaction import Masker


@dataclass(slots=True)
class TurnWords:
    """Cached words of turns as memory reads them: masked, with speakers and dates. Preloading shortens the lock."""

    bank: Bank
    masker: Masker
    _words: dict[tuple[int, int, int, int], frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, bank: Bank) -> Self:
        """An empty cache for this bank."""
        return cls(bank, MaskedValue.objects.masker(bank))

    def words(self, output: Output) -> frozenset[str]:
        """The words that a line citing this turn may contain."""
        # The words change when a half is erased or hidden.
        key = (output.pk, len(output.question), len(output.answer), len(output.messages))
        if key not in self._words:
            [turn] = transcript.read([output], tz=self.bank.tz, masker=self.masker)
            day = turn.at.date()
            texts = [dates.format_date(day)]
            for part in turn.utterances:
                texts += [part.speaker, dates.resolve(part.text, day), dates.resolve(part.text, day, replace=True)]
            self._words[key] = frozenset(word for text in texts for word in terms(text))
        return self._words[key]

    def of_turns(self, outputs: Iterable[Output]) -> frozenset[str]:
        """The words of several turns."""
        return frozenset[str]().union(*map(self.words, outputs))
