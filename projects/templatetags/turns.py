"""How templates name a turn."""

from django import template

from projects.turn_numbers import TurnNumber

register = template.Library()


@register.filter
def turn_number(pk: int) -> str:
    """The opaque number of an output."""
    return TurnNumber().to_url(pk)
