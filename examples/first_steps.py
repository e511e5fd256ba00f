"""First steps: tensors, gradients, a logistic regression by hand, and how a call is dispatched.

Enters: nothing. Leaves: text; exits with an error if the small model fails to learn.
"""

import time

import thunk
from thunk.dispatch.explain import table_text

STEPS = 200
SAMPLES = 1024
FEATURES = 8


def heading(text: str) -> None:
    print(f"\n== {text}")


def show_tensors() -> None:
    heading("Tensors: PyTorch's names, promotion, views and printing")
    table = thunk.arange(6).reshape(2, 3)
    print(table)
    print(f"table + 0.5 has dtype {(table + 0.5).dtype}")
    column = table[:, 1]
    column.mul_(10)
    print(f"a column is a view; after column.mul_(10): {table.tolist()}")


def show_gradients() -> None:
    heading("Gradients")
    x = thunk.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x.exp() * x).sum()
    y.backward()
    print(f"y = sum(x * exp(x)) = {y.item():.4f}, dy/dx = {x.grad}")


def loss_of(weight: thunk.Tensor, bias: thunk.Tensor, points: thunk.Tensor, labels: thunk.Tensor):
    """Binary cross entropy of the logits, written so that no exponential can overflow."""
    logits = points @ weight + bias
    return (logits.clamp(min=0) - logits * labels + thunk.log1p(thunk.exp(-logits.abs()))).mean()


def train_by_hand() -> float:
    """Gradient descent on synthetic data; returns the accuracy on its own samples."""
    heading("A logistic regression by hand")
    thunk.manual_seed(0)
    truth = thunk.randn(FEATURES)
    points = thunk.randn(SAMPLES, FEATURES)
    labels = (points @ truth + 0.3 * thunk.randn(SAMPLES) > 0).float()
    weight = thunk.zeros(FEATURES, requires_grad=True)
    bias = thunk.zeros(1, requires_grad=True)
    start = time.perf_counter()
    for step in range(STEPS):
        loss = loss_of(weight, bias, points, labels)
        loss.backward()
        with thunk.no_grad():
            for parameter in (weight, bias):
                parameter.sub_(parameter.grad, alpha=1.0)
                parameter.grad = None
        if step % 50 == 0 or step == STEPS - 1:
            print(f"step {step:3d}  loss {loss.item():.4f}")
    seconds = time.perf_counter() - start
    with thunk.no_grad():
        right = ((points @ weight + bias > 0) == labels.bool()).float().mean().item()
    print(f"{STEPS} steps in {seconds:.2f} s on the reference backend; accuracy {right:.1%}")
    return right


def show_dispatch() -> None:
    heading("Why a call runs what it runs: the dispatch table of add.Tensor")
    print(table_text("aten::add.Tensor"))


def main() -> None:
    print(f"Thunk {thunk.__version__}")
    show_tensors()
    show_gradients()
    accuracy = train_by_hand()
    show_dispatch()
    if accuracy < 0.9:
        raise SystemExit(f"first_steps: expected an accuracy of at least 0.9, got {accuracy:.3f}")


if __name__ == "__main__":
    main()
