"""A transformer that learns to write, letter by letter."""

import argparse

import poem

import thunk
import thunk.nn.functional as F
from thunk import nn, optim


class Block(nn.Module):
    """Attention to what came before, then a small network at each place."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.to_qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: thunk.Tensor) -> thunk.Tensor:
        batch, length, width = x.shape
        qkv = self.to_qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Letters and their places as vectors, blocks, and a score for each next letter."""

    def __init__(self, letters: int, context: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.context = context
        self.letter = nn.Embedding(letters, width)
        self.place = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters)

    def forward(self, passages: thunk.Tensor) -> thunk.Tensor:
        places = thunk.arange(passages.size(1))
        x = self.letter(passages) + self.place(places)
        return self.head(self.norm(self.blocks(x)))

    @thunk.no_grad()
    def write(self, start: thunk.Tensor, count: int, temperature: float) -> thunk.Tensor:
        """`count` more letters after `start`."""
        written = start
        for _ in range(count):
            logits = self(written[:, -self.context :])[:, -1]
            written = thunk.cat([written, poem.drawn(logits, temperature)], 1)
        return written


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", help="a file to learn from; without it, some lines of a poem")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--letters", type=int, default=120, help="how much to write at the end")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> list[float]:
    options = parsed(arguments)
    thunk.manual_seed(options.seed)
    text, letters = poem.read_text(options.text)
    model = Transformer(len(letters), options.context, options.width, options.heads, options.layers)
    optimizer = optim.AdamW(model.parameters(), lr=options.lr)
    losses = []
    for step in range(options.steps):
        passages, following = poem.random_passages(text, options.batch_size, options.context)
        logits = model(passages)
        loss = F.cross_entropy(logits.flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0 or step == options.steps - 1:
            losses.append(loss.item())
            print(f"step {step:4}  loss {losses[-1]:.3f}")
    model.eval()
    written = model.write(text[None, :8], options.letters, temperature=0.7)[0]
    print("".join(letters[number] for number in written.tolist()))
    return losses


if __name__ == "__main__":
    main()
