"""Values that were masked in a bank, so that each is masked in every mention: as keyed hashes, never as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.utils.crypto import salted_hmac

from .bank import Bank

if TYPE_CHECKING:
    from memorybank.safety.redaction import Masker

# Rules are imported where they mask: a command that masks nothing begins without them.


class MaskedValueQuerySet(models.QuerySet["MaskedValue"]):
    """Sets of masked values."""

    def masker(self, bank: Bank) -> Masker:
        """What masks texts of a bank, as it is set now. One indexed read."""
        return self.maskers([bank])[bank.pk]

    def maskers(self, banks: Iterable[Bank]) -> dict[int, Masker]:
        """The same for several, by their ids. One indexed read."""
        given = {bank.pk: bank for bank in banks}
        rows: dict[int, list[MaskedValue]] = {pk: [] for pk in given}
        for row in self.filter(bank__in=given):
            if given[row.bank_id].redact_personal or not row.personal:
                rows[row.bank_id].append(row)
        return {pk: _masker(bank, rows[pk]) for pk, bank in given.items()}

    def learn(self, bank: Bank, values: Mapping[str, str]) -> dict[str, str]:
        """Keep what is new of these values, which map to their kinds; what that was. The caller holds the bank."""
        from memorybank.safety.redaction import PERSONAL_KINDS, digest

        key = _key(bank)
        digests = {digest(key, value): value for value in values}
        there = set(self.filter(bank=bank, digest__in=digests).values_list("digest", flat=True)) if digests else set()
        new = {each: value for each, value in digests.items() if each not in there}
        self.bulk_create(
            MaskedValue(
                bank=bank,
                digest=each,
                length=len(value),
                kind=values[value][:60],
                personal=values[value] in PERSONAL_KINDS,
            )
            for each, value in new.items()
        )
        return {value: values[value] for value in new.values()}

    def unlearn(self, bank: Bank, values: Iterable[str]) -> int:
        """Know these values no more; how many were known. The caller holds the bank."""
        from memorybank.safety.redaction import digest

        digests = [digest(_key(bank), value) for value in values]
        return self.filter(bank=bank, digest__in=digests).delete()[0]


def _masker(bank: Bank, rows: Iterable[MaskedValue]) -> Masker:
    from memorybank.safety.redaction import KnownValues, Masker

    kinds = {row.digest: row.kind for row in rows}
    return Masker(bank.redact_personal, KnownValues(_key(bank), kinds, sorted({row.length for row in rows})))


def _key(bank: Bank) -> bytes:
    """The bank's own, so that nobody sees that two banks share a secret."""
    return salted_hmac("memorybank.masked", str(bank.pk), algorithm="sha256").digest()


class MaskedValue(models.Model):
    """One value: what it is known by, how long it is, what it was masked as."""

    # Its index is the constraint's, which begins with it.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="masked_values", db_index=False)
    digest = models.CharField(max_length=40)
    length = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=60)
    personal = models.BooleanField(help_text="Masked only while the bank masks personal data.")

    objects: ClassVar[MaskedValueQuerySet] = MaskedValueQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # One value is learnt once; and its index finds what a bank knows.
            models.UniqueConstraint(name="masked_value_once", fields=["bank", "digest"]),
        ]

    def __str__(self) -> str:
        return f"masked value {self.pk} of bank {self.bank_id}"
