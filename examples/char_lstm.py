"""A recurrent network that learns to write, letter by letter, one passage after the other.

The state of the network is carried from passage to passage and cut off from their history: it
remembers, but gradients end at the passage's start.
"""

import argparse

import poem

import thunk
import thunk.nn.functional as F
from thunk import nn, optim

State = tuple[thunk.Tensor, thunk.Tensor]


class Writer(nn.Module):
    """Letters as vectors, an LSTM, and a score for each next letter."""

    def __init__(self, letters: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.letter = nn.Embedding(letters, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True, dropout=dropout)
        self.head = nn.Linear(width, letters)

    def forward(
        self, passages: thunk.Tensor, state: State | None = None
    ) -> tuple[thunk.Tensor, State]:
        remembered, state = self.lstm(self.letter(passages), state)
        return self.head(remembered), state

    @thunk.no_grad()
    def write(self, start: thunk.Tensor, count: int, temperature: float) -> thunk.Tensor:
        """`count` more letters after `start`."""
        written = [start]
        logits, state = self(start)
        for _ in range(count):
            written.append(poem.drawn(logits[:, -1], temperature))
            logits, state = self(written[-1], state)
        return thunk.cat(written, 1)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", help="a file to learn from; without it, some lines of a poem")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--length", type=int, default=25)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--letters", type=int, default=120, help="how much to write at the end")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> list[float]:
    options = parsed(arguments)
    thunk.manual_seed(options.seed)
    text, letters = poem.read_text(options.text)
    columns = len(text) // options.batch_size
    # Each row is a stretch of the text; the passages of a batch go on where the last ones ended.
    stretches = text[: columns * options.batch_size].view(options.batch_size, columns)
    model = Writer(len(letters), options.width, options.layers, options.dropout)
    optimizer = optim.Adam(model.parameters(), lr=options.lr)
    losses = []
    for epoch in range(1, options.epochs + 1):
        model.train()
        state, total, passages = None, 0.0, 0
        for start in range(0, columns - 1, options.length):
            end = min(start + options.length, columns - 1)
            logits, state = model(stretches[:, start:end], state)
            loss = F.cross_entropy(
                logits.flatten(0, 1), stretches[:, start + 1 : end + 1].flatten()
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            state = (state[0].detach(), state[1].detach())
            total, passages = total + loss.detach(), passages + 1
        losses.append((total / passages).item())
        if epoch % 5 == 0 or epoch in (1, options.epochs):
            print(f"epoch {epoch:3}  loss {losses[-1]:.3f}")
    model.eval()
    written = model.write(text[None, :8], options.letters, temperature=0.7)[0]
    print("".join(letters[number] for number in written.tolist()))
    return losses


if __name__ == "__main__":
    main()
