"""Template filter for addresses that are longer than a line."""

import re

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def breakable(address: str) -> SafeString:
    """The address with a place to break the line after each of its parts, instead of in the middle of a word."""
    return format_html_join("", "{}<wbr>", ((part,) for part in re.findall(r"[^/?&=.]*[/?&=.]*", address) if part))
