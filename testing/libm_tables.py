#!/usr/bin/env python3
"""Computes the tables of samplers/libm/exp.rs and pow.rs from their definitions in Arm's optimized routines, and prints one.

    python3 testing/libm_tables.py exp
    python3 testing/libm_tables.py pow
"""

import struct
import sys
from decimal import Decimal, getcontext
from fractions import Fraction
from math import floor

getcontext().prec = 80
N = 128
# The bits of the lower end of [0.7057.., 1.4115..), which is parted into 128.
OFF = 0x3FE6955500000000


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def double(b):
    return Fraction(struct.unpack("<d", struct.pack("<Q", b))[0])


def nearest(x):
    return floor(x + Fraction(1, 2))


def exp_row(i):
    """2^(i/128) as the nearest f64, and what that is off by, as a share of it."""
    power = (Decimal(2).ln() * i / N).exp()
    rounded = float(power)
    off = float((power - Decimal(rounded)) / Decimal(rounded)) if i else 0.0
    return bits(off), (bits(rounded) - (i << 45)) % 2**64


def pow_row(i):
    """A short fraction near the inverse of what lies in the middle of the part, and minus its logarithm, in two f64."""
    middle = (double(OFF + (i << 45)) + double(OFF + ((i + 1) << 45) - 1)) / 2
    parts = N if middle < 1 else 2 * N
    inverse = Fraction(nearest(parts / middle), parts)
    # One part on either side of 1 has the logarithm 0, so that those near 1 lose nothing.
    if abs(1 / inverse - 1) < Fraction(1, 300):
        inverse = Fraction(1)
    log = Fraction(-(Decimal(inverse.numerator) / Decimal(inverse.denominator)).ln()) if inverse != 1 else Fraction(0)
    high = Fraction(nearest(log * 2**43), 2**43)
    return bits(float(inverse)), bits(float(high)), bits(float(log - high))


def main(name):
    row, width = {"exp": (exp_row, 2), "pow": (pow_row, 3)}[name]
    print(f"const TABLE: [({', '.join(['u64'] * width)}); {N}] = [")
    for i in range(N):
        print(f"    ({', '.join(f'0x{b:016x}' for b in row(i))}),")
    print("];")


main(sys.argv[1])
