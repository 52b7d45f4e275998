"""The template filter ``public_id``."""

from django import template

from memorybank.models import public_id

register = template.Library()
register.filter(public_id)
