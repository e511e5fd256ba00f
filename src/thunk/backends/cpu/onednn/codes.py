"""The numbers of oneDNN's C interface that are used here, by name."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from thunk.types.dtype import bfloat16, dtype, float16, float32, int8, int32, uint8

DATA_TYPES: Final[dict[dtype, int]] = {
    float16: 1,
    bfloat16: 2,
    float32: 3,
    int32: 4,
    int8: 5,
    uint8: 6,
}
DATA_TYPE_OF: Final = {code: dtype for dtype, code in DATA_TYPES.items()}

MOST_DIMENSIONS: Final = 12
CPU_ENGINE: Final = 1
IN_ORDER: Final = 1  # the stream's flags
ANY_FORMAT: Final = 1
BLOCKED_FORMAT: Final = 2
USER_SCRATCHPAD: Final = 1
DIRECT_CONVOLUTION: Final = 1


class Argument(IntEnum):
    """Which tensor of a primitive an execution argument is."""

    SOURCE = 1
    RESULT = 17
    WEIGHT = 33
    BIAS = 41
    SCRATCHPAD = 80
    GRAD_SOURCE = 129
    GRAD_RESULT = 145
    GRAD_WEIGHT = 161
    GRAD_BIAS = 169
    FIRST_POST_OPERAND = 32768 | 2


POST_STEP: Final = 32768  # between the operands of two post-ops that follow one another


class Query(IntEnum):
    """What can be asked of a primitive's descriptor or of a memory's."""

    IMPLEMENTATION = 8
    STRIDES = 14
    EXECUTION_ARGUMENT = 255
    DIMENSIONS = 256
    EXTENTS = 257
    DATA_TYPE = 258
    PADDED_EXTENTS = 260
    FORMAT = 262
    BLOCK_COUNT = 263
    BLOCK_SIZES = 264
    BLOCK_AXES = 265


class Propagation(IntEnum):
    """Which of an operator's forms a primitive computes."""

    FORWARD_TRAINING = 64
    FORWARD_INFERENCE = 96


class Algorithm(IntEnum):
    """Post-ops."""

    ELU = 0x22
    LINEAR = 0x26
    ADD = 0x1FFF0


STATUS: Final = {
    1: "out of memory",
    2: "invalid arguments",
    3: "not implemented",
    4: "no implementation left",
    5: "failure while running",
    6: "not required",
}
