"""`python benchmarks/micro/library_calls.py`: who serves which product or convolution how fast.

Enters: nothing. Leaves: microseconds of each provider, the one that `build` chooses last. The ways
of one line take turns. `--cpu` takes the processor's time of one thread instead of the clock: on a
machine that others use too, that is what can be compared.
"""

import argparse
import ctypes
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import timing
from thunk.backends.cpu.blas.call import OwnCall
from thunk.backends.cpu.blas.find import blas
from thunk.backends.cpu.blas.product import Product, is_direct
from thunk.backends.cpu.calls.attention import Attention, AttentionCall
from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.call import Function, LibraryCall, aligned_bytes
from thunk.backends.cpu.calls.layout import Layout, free, plain
from thunk.backends.cpu.calls.specs import Convolution, Direction, Matmul, matmul
from thunk.backends.cpu.llvm.gemm_context import Way
from thunk.backends.cpu.onednn.call import OneDnnCall
from thunk.backends.cpu.onednn.find import status
from thunk.types.dtype import float32

PRODUCTS = (
    (8, 8, 8), (32, 32, 32), (64, 64, 10), (64, 128, 64), (64, 784, 128), (784, 64, 128),
    (128, 128, 128), (256, 256, 256), (512, 512, 512), (1, 768, 768), (1, 768, 3072), (4, 768, 768),
)  # fmt: skip
CONVOLUTIONS = (  # samples, channels, size, results, kernel, stride, padding
    (64, 1, 28, 32, 3, 1, 0), (64, 32, 26, 64, 3, 1, 0), (16, 64, 16, 64, 3, 1, 1),
    (16, 64, 16, 128, 3, 2, 1), (16, 512, 2, 512, 3, 1, 1), (1, 64, 56, 64, 3, 1, 1),
)  # fmt: skip
DIRECTIONS: tuple[Direction, ...] = ("forward", "image", "weight")
ATTENTIONS = ((8, 4, 128, 64), (4, 12, 256, 64), (2, 4, 512, 64), (2, 4, 1024, 64))


def runner(call: LibraryCall) -> Callable[[], object]:
    """A function that runs `call` on memory of its own."""
    memories = [aligned_bytes(each.layout.nbytes) for each in call.operands]
    for memory in memories:
        memory[...] = 0
    pointers = (ctypes.c_void_p * len(memories))(*[each.ctypes.data for each in memories])
    bound = call.bind()
    function, address = Function(bound.function), ctypes.addressof(pointers)

    def run(keep: object = (memories, pointers, bound)) -> None:
        function(address, bound.context)

    return run


def product_ways(spec: Matmul) -> dict[str, LibraryCall]:
    """Every provider that can serve a product."""
    found: dict[str, LibraryCall] = {}
    if status().found:
        found["oneDNN"] = OneDnnCall(spec)
    left, right = spec.left.strides, spec.right.strides
    assert left and right and is_direct(spec)
    fits = {
        Way.SPREAD: right[-1] == 1,
        Way.DOT: left[-1] == 1 and right[-2] == 1,
        Way.PACKED: True,
        Way.BLAS: blas().found,
    }
    for way in Way:
        if fits[way]:
            found[way.name.lower()] = Product(spec, way)
    found["chosen"] = build(spec)
    return found


def products(threads: int) -> Iterator[tuple[str, dict[str, LibraryCall]]]:
    for rows, inner, columns in PRODUCTS:
        for form in ("nn", "nt", "tn"):
            left, right = plain((rows, inner), float32), plain((inner, columns), float32)
            if form[0] == "t":
                left = plain((inner, rows), float32).transposed()
            if form[1] == "t":
                right = plain((columns, inner), float32).transposed()
            spec = matmul(left, right, plain((rows, columns), float32), threads=threads)
            yield f"product {rows} {inner} {columns} {form}", product_ways(spec)


def layouts(kind: str, image: tuple[int, ...], weight: tuple[int, ...], out: tuple[int, ...]) -> (
    tuple[Layout, Layout, Layout]
):  # fmt: skip
    """All free, or all plain, with channels first or last."""
    if kind == "free":
        return free(image, float32), free(weight, float32), free(out, float32)

    def dense(shape: tuple[int, ...]) -> Layout:
        _, channels, height, width = shape
        last = (height * width * channels, 1, width * channels, channels)
        return plain(shape, float32, last if kind == "last" else None)

    return dense(image), plain(weight, float32), dense(out)


def convolutions(threads: int) -> Iterator[tuple[str, dict[str, LibraryCall]]]:
    for samples, channels, size, results, kernel, stride, padding in CONVOLUTIONS:
        image, weight = (samples, channels, size, size), (results, channels, kernel, kernel)
        out = (size + 2 * padding - kernel) // stride + 1
        places = ((stride,) * 2, (1, 1), (padding,) * 2, (padding,) * 2)
        for direction in DIRECTIONS:
            ways: dict[str, LibraryCall] = {}
            for kind in ("free", "first", "last"):
                three = layouts(kind, image, weight, (samples, results, out, out))
                spec = Convolution(direction, *three, None, *places, threads=threads)
                ways[kind] = build(spec)
                if kind == "first":
                    ways["columns"] = OwnCall(spec)
            yield f"convolution {image} {weight} /{stride} {direction}", ways


def attentions(threads: int) -> Iterator[tuple[str, dict[str, LibraryCall]]]:
    for shape in ATTENTIONS:
        layout = plain(shape, float32)
        ways: dict[str, LibraryCall] = {}
        for causal in (False, True):
            name = "causal" if causal else "whole"
            four = (layout,) * 4
            forward = Attention(*four, causal=causal, threads=threads)
            ways[name] = AttentionCall(forward)
            gradient = Attention(*four, causal=causal, gradients=four, threads=threads)
            ways[f"{name} gradient"] = AttentionCall(gradient)
        yield f"attention {shape}", ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cpu", action="store_true", help="processor time instead of the clock")
    parser.add_argument("kinds", nargs="*", default=["products", "convolutions", "attentions"])
    chosen = parser.parse_args()
    clock = time.thread_time if chosen.cpu else time.perf_counter
    print(f"{status()}; {blas()}; {chosen.threads} threads")
    for kind in chosen.kinds:
        for name, calls in globals()[kind](chosen.threads):
            ways = {way: runner(call) for way, call in calls.items()}
            least = timing.interleaved(ways, rounds=8, seconds=0.003, clock=clock)
            times = "  ".join(f"{way} {least[way] * 1e6:.1f}" for way in ways)
            picked = calls.get("chosen")
            by = f"  ({picked.implementation})" if picked else ""
            print(f"{name:44} {times}{by}", flush=True)


if __name__ == "__main__":
    main()
