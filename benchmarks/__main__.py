"""`make bench`: the reference backend against torch eager, interleaved, as one table.

Enters: nothing. Leaves: microseconds a call and their ratio; ratios travel, absolute times do not.
"""

import platform

import timing
import torch
import workloads

import thunk


def main() -> None:
    torch.set_num_threads(2)
    ours, theirs = workloads.all_of(thunk), workloads.all_of(torch)
    print(f"Thunk {thunk.__version__} (reference backend), torch {torch.__version__} (eager)")
    print(f"Python {platform.python_version()}, {platform.machine()}; least time of 15 rounds\n")
    width = max(map(len, ours))
    print(f"{'workload':{width}}  {'thunk us':>10}  {'torch us':>10}  {'ratio':>6}")
    for name in ours:
        least = timing.interleaved({"thunk": ours[name], "torch": theirs[name]})
        mine, peer = least["thunk"] * 1e6, least["torch"] * 1e6
        print(f"{name:{width}}  {mine:10.1f}  {peer:10.1f}  {mine / peer:6.1f}")


if __name__ == "__main__":
    main()
