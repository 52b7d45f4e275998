"""Syntax colours for code blocks: a few classes that the style sheet colours, light and dark.

Pygments takes 0.1 s to import, so it is imported when the first code block with a language is shown.
"""

from __future__ import annotations

from itertools import groupby

from django.utils.html import escape

#: Pygments' lexers that take linear time, also for hostile text.
LEXERS = (
    "bash c cpp csharp css diff docker go html javascript json jsx kotlin markdown nginx php powershell python r rust "
    "scala scss sql swift toml tsx typescript xml"
).split()
#: Quadratic lexers, used for short blocks only.
SLOW_LEXERS, MAX_SLOW_CHARACTERS = ("java", "yaml"), 2_000
ALIASES = {"cs": "csharp", "dockerfile": "docker", "golang": "go", "js": "javascript", "kt": "kotlin", "md": "markdown"}
ALIASES |= {"ps1": "powershell", "py": "python", "rs": "rust", "sh": "bash", "shell": "bash", "zsh": "bash"}
ALIASES |= {"c++": "cpp", "htm": "html", "patch": "diff", "postgresql": "sql", "ts": "typescript", "yml": "yaml"}
#: The class of each of Pygments' token types, by its first names.
TOKEN_CLASSES = {
    "Keyword": "k",
    "Operator.Word": "k",
    "Name.Tag": "k",
    "Name.Builtin": "f",
    "Name.Class": "f",
    "Name.Decorator": "f",
    "Name.Function": "f",
    "Name.Attribute": "f",
    "Literal.String": "s",
    "Literal.Number": "m",
    "Keyword.Constant": "m",
    "Comment": "c",
    "Generic.Inserted": "i",
    "Generic.Deleted": "d",
}


def highlighted(code: str, language: str) -> str:
    """The code as HTML, with coloured spans if the language is known."""
    name = ALIASES.get(language.lower(), language.lower())
    if name not in LEXERS and not (name in SLOW_LEXERS and len(code) <= MAX_SLOW_CHARACTERS):
        return escape(code)
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    tokens = get_lexer_by_name(name, stripnl=False, ensurenl=False).get_tokens(code)
    pieces = [
        (css, escape("".join(text for _, text in same)))
        for css, same in groupby(tokens, lambda token: _class(token[0]))
    ]
    return "".join(f'<span class="{css}">{text}</span>' if css else text for css, text in pieces)


def _class(kind: tuple[str, ...]) -> str:
    """The class of a token type, or of the narrowest type it belongs to."""
    prefixes = (".".join(kind[:length]) for length in range(len(kind), 0, -1))
    return next((TOKEN_CLASSES[prefix] for prefix in prefixes if prefix in TOKEN_CLASSES), "")
