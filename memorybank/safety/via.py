"""Authors whose words a program recorded: “priya, via desk”."""

#: Separates a person's name from the name of the program that records their words.
VIA = ", via "


def person_in(author: str) -> str:
    """The person whose words an author's turns are, without the program that recorded them."""
    return author.partition(VIA)[0]
