"""Public ids in templates."""

from django import template

from memorybank.models import public_id

register = template.Library()
register.filter(public_id)
