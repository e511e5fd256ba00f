"""NumPy rules of connectionist temporal classification.

An alignment walks through states: a blank before, between and after the labels, and the labels
themselves. Invariant: states are vectorised over samples; only time is a loop.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule

_NEVER = -numpy.inf


def _states(targets: Any, target_lengths: Any, blank: int) -> Any:
    """The label of every (sample, state); blanks stand at even states and after the end."""
    longest = max(target_lengths)
    labels = numpy.full((len(target_lengths), 2 * longest + 1), blank, numpy.int64)
    start = 0
    for sample, length in enumerate(target_lengths):
        if targets.ndim == 1:
            labels[sample, 1 : 2 * length : 2] = targets[start : start + length]
            start += length
        else:
            labels[sample, 1 : 2 * length : 2] = targets[sample, :length]
    return labels


def _skips(labels: Any) -> Any:
    """Where an alignment may come from two states before: a label unlike the last one."""
    allowed = numpy.zeros(labels.shape, bool)
    allowed[:, 2:] = labels[:, 2:] != labels[:, :-2]
    allowed[:, ::2] = False
    return allowed


def _shifted(row: Any, count: int) -> Any:
    """Every state's predecessor `count` states before."""
    moved = numpy.full(row.shape, _NEVER, row.dtype)
    moved[:, count:] = row[:, : row.shape[1] - count]
    return moved


def _forward(scores: Any, skips: Any, starts: Any) -> Any:
    """(sample, time, state): log probability of all ways there, given scores of that shape.

    `starts` masks the states where an alignment may begin.
    """
    found = numpy.full(scores.shape, _NEVER, scores.dtype)
    if not scores.shape[1]:
        return found
    found[:, 0] = numpy.where(starts, scores[:, 0], _NEVER)
    for time in range(1, scores.shape[1]):
        before = found[:, time - 1]
        ways = numpy.logaddexp(before, _shifted(before, 1))
        ways = numpy.logaddexp(ways, numpy.where(skips, _shifted(before, 2), _NEVER))
        found[:, time] = ways + scores[:, time]
    return found


def _scores(log_probs: Any, labels: Any) -> Any:
    """The log probability of every (sample, time, state)."""
    per_sample = log_probs.transpose(1, 0, 2)
    places = numpy.broadcast_to(labels[:, None, :], (*per_sample.shape[:2], labels.shape[1]))
    return numpy.take_along_axis(per_sample, places, 2)


def _starts(target_lengths: Any, count: int) -> Any:
    lengths = numpy.asarray(target_lengths)[:, None]
    return numpy.arange(count)[None, :] < numpy.where(lengths > 0, 2, 1)


@rule("_ctc_loss")
def ctc_loss(
    spec: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int,
    zero_infinity: bool,
) -> Any:  # fmt: skip
    labels = _states(targets, target_lengths, blank)
    alpha = _forward(
        _scores(log_probs, labels), _skips(labels), _starts(target_lengths, labels.shape[1])
    )
    loss = numpy.empty(len(target_lengths), log_probs.dtype)
    for sample, (times, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        if times == 0:
            loss[sample] = 0 if length == 0 else numpy.inf
            continue
        ends = alpha[sample, times - 1, max(2 * length - 1, 0) : 2 * length + 1]
        loss[sample] = -numpy.logaddexp.reduce(ends)
    return loss, alpha


def _reversed(array: Any, lengths: Any) -> Any:
    """Axis 1 of each sample's first `lengths` entries from the end to the front."""
    result = array.copy()
    for sample, length in enumerate(lengths):
        result[sample, :length] = array[sample, :length][::-1]
    return result


@rule("_ctc_loss_backward")
def ctc_loss_backward(
    spec: Any, grad: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
    neg_log_likelihood: Any, log_alpha: Any, blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    labels = _states(targets, target_lengths, blank)
    counts = [2 * length + 1 for length in target_lengths]
    # Backwards in time and state, the ends of alignments are beginnings.
    mirrored = _reversed(labels, counts)
    scores = _reversed(_scores(log_probs, mirrored), input_lengths)
    beta = _forward(scores, _skips(mirrored), _starts(target_lengths, labels.shape[1]))
    beta = _reversed(beta, input_lengths)
    beta = _reversed(beta.swapaxes(1, 2), counts).swapaxes(1, 2)
    both = log_alpha + beta
    per_sample = log_probs.transpose(1, 0, 2)
    passing = numpy.full(per_sample.shape, _NEVER, log_probs.dtype)
    samples = numpy.arange(len(counts))
    valid = numpy.arange(labels.shape[1])[None, :] < numpy.asarray(counts)[:, None]
    for state in range(labels.shape[1]):
        label = labels[:, state]
        adds = numpy.where(valid[:, state, None], both[:, :, state], _NEVER)
        passing[samples, :, label] = numpy.logaddexp(passing[samples, :, label], adds)
    loss = neg_log_likelihood[:, None, None]
    found = numpy.exp(per_sample) - numpy.exp(passing + loss - per_sample)
    found = found * grad[:, None, None]
    late = numpy.arange(found.shape[1])[None, :] >= numpy.asarray(input_lengths)[:, None]
    found[late] = 0
    if zero_infinity:
        found[neg_log_likelihood == numpy.inf] = 0
    return found.transpose(1, 0, 2)
