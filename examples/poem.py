"""A poem to learn letter by letter, as numbers; shared by the two language models.

In: nothing, or a file. Out: a tensor of letter numbers, and the letters.
"""

from pathlib import Path

import thunk

# The first lines of "The Hunting of the Snark" by Lewis Carroll (1876), in the public domain.
SNARK = """\
"Just the place for a Snark!" the Bellman cried,
  As he landed his crew with care;
Supporting each man on the top of the tide
  By a finger entwined in his hair.

"Just the place for a Snark! I have said it twice:
  That alone should encourage the crew.
Just the place for a Snark! I have said it thrice:
  What I tell you three times is true."

The crew was complete: it included a Boots,
  A maker of Bonnets and Hoods,
A Barrister, brought to arrange their disputes,
  And a Broker, to value their goods.

A Billiard-marker, whose skill was immense,
  Might perhaps have won more than his share,
But a Banker, engaged at enormous expense,
  Had the whole of their cash in his care.

There was also a Beaver, that paced on the deck,
  Or would sit making lace in the bow:
And had often (the Bellman said) saved them from wreck,
  Though none of the sailors knew how.
"""


def read_text(path: str | None) -> tuple[thunk.Tensor, str]:
    """The numbers of a text's letters, and the letters by number."""
    text = SNARK if path is None else Path(path).read_text(encoding="utf-8")
    letters = "".join(sorted(set(text)))
    numbers = {letter: number for number, letter in enumerate(letters)}
    return thunk.tensor([numbers[letter] for letter in text]), letters


def random_passages(
    text: thunk.Tensor, count: int, length: int
) -> tuple[thunk.Tensor, thunk.Tensor]:
    """Passages from random places, and the same passages one letter further on."""
    starts = thunk.randint(len(text) - length, (count, 1))
    places = starts + thunk.arange(length + 1)
    passages = text[places]
    return passages[:, :-1], passages[:, 1:]


def drawn(logits: thunk.Tensor, temperature: float) -> thunk.Tensor:
    """The next letter, drawn from what the model thinks of each."""
    return thunk.multinomial(thunk.softmax(logits / temperature, -1), 1)
