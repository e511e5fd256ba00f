"""Every example runs in a tiny configuration, and what it is about happens: it learns."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import thunk

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports an example by name, as a script of the folder would import it."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def imported(name: str) -> ModuleType:
        return importlib.import_module(name)

    return imported


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_every_example_is_here() -> None:
    tested = {
        "add_two_maybe", "char_lstm", "char_transformer", "mnist", "poem", "reinforce", "vae",
        "first_steps",  # by tests/unit/test_documents.py
    }  # fmt: skip
    assert {path.stem for path in EXAMPLES.glob("*.py")} == tested


def test_add_two_maybe(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    counts = example("add_two_maybe").main()
    # The last value is known already if the last question led to no addition.
    assert [counts[f"if {limit}"] for limit in (2, 6, 20)] == [2, 2, 3]
    assert [counts[f"where {limit}"] for limit in (2, 6, 20)] == [1, 1, 1]
    assert "and again: [5.0, 5.0, 5.0]" in capsys.readouterr().out


def test_mnist(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--epochs 1 --samples 64 --batch-size 8 --log-interval 4"
    assert example("mnist").main(options.split()) > 0.3
    assert "test accuracy" in capsys.readouterr().out


def test_mnist_reads_the_whole_set_from_a_folder(example: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="bundled_digits"):
        example("mnist").main(["--root", str(tmp_path)])


SMALL = "--letters 5 --width 24 --layers 1"


def test_char_transformer(example: Any) -> None:
    options = f"{SMALL} --steps 41 --batch-size 4 --context 16 --heads 2 --lr 0.01"
    losses = example("char_transformer").main(options.split())
    assert losses[0] == pytest.approx(math.log(45), abs=0.6)
    assert losses[-1] < losses[0] - 0.8


def test_char_transformer_sees_only_the_past(example: Any) -> None:
    module = example("char_transformer")
    model = module.Transformer(9, 8, 16, 2, 2).eval()
    first = thunk.randint(9, (1, 8))
    second = first.clone()
    second[0, 5] = (second[0, 5] + 1) % 9
    changed = (model(first) - model(second)).abs().amax(-1)[0] > 1e-6
    assert changed.tolist() == [False] * 5 + [True] * 3


def test_char_lstm(example: Any) -> None:
    losses = example("char_lstm").main(f"{SMALL} --epochs 3 --lr 0.03 --dropout 0".split())
    assert losses[-1] < losses[0] - 0.3


def test_vae(example: Any, tmp_path: Path) -> None:
    picture = tmp_path / "new.png"
    options = f"--epochs 4 --samples 192 --batch-size 16 --hidden 32 --picture {picture}"
    losses = example("vae").main(options.split())
    assert losses[-1] < losses[0] - 50
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_reinforce(example: Any) -> None:
    lengths = example("reinforce").main(["--episodes", "60", "--longest", "80", "--enough", "60"])
    assert mean(lengths[-15:]) > 1.3 * mean(lengths[:15])


def test_the_pole_falls_when_pushed_one_way(example: Any) -> None:
    for action in (0, 1):
        cart = example("reinforce").Cart(seed=1)
        cart.reset()
        steps, over = 0, False
        while not over:
            state, over = cart.step(action)
            steps += 1
        assert 7 <= steps <= 12
        # A push to the right tips the pole to the left.
        assert (state[2] < 0) == (action == 1)


def test_returns_count_what_is_still_to_come(example: Any) -> None:
    returns = example("reinforce").returns_of(4, 0.5)
    raw = [1.875, 1.75, 1.5, 1.0]
    spread = math.sqrt(sum((x - mean(raw)) ** 2 for x in raw) / 3)
    assert returns.tolist() == pytest.approx([(x - mean(raw)) / spread for x in raw], abs=1e-4)


def test_passages_follow_each_other(example: Any) -> None:
    poem = example("poem")
    text, letters = poem.read_text(None)
    assert "".join(letters[number] for number in text.tolist()) == poem.SNARK
    passages, following = poem.random_passages(text, 5, 7)
    assert passages.shape == following.shape == (5, 7)
    assert passages[:, 1:].tolist() == following[:, :-1].tolist()
