"""An answer's HTML as it grows: of what is there for good nothing is rendered or sent again."""

from dataclasses import dataclass


@dataclass(slots=True)
class Growing:
    """One listener's view of one answer: ``done`` characters are shown for good, as ``blocks`` elements."""

    done: int = 0
    blocks: int = 0

    def grow(self, text: str) -> tuple[int, str]:
        """From which element on the page is to be replaced, and by what, for it to show ``text``."""
        from .markdown import as_html, last_block  # 0.2 s, which no other page needs

        begun, (blocks, length) = self.blocks, last_block(text[self.done :])
        html = as_html(text[self.done :])
        self.done, self.blocks = self.done + length, self.blocks + blocks
        return begun, html
