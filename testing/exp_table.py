#!/usr/bin/env python3
"""Computes the table of samplers/libm/exp.rs from its definition in Arm's optimized routines, and prints it.

    python3 testing/exp_table.py
"""

import struct
from decimal import Decimal, getcontext

getcontext().prec = 80
N = 128


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def exp_row(i):
    """2^(i/128) as the nearest f64, and what that is off by, as a share of it."""
    power = (Decimal(2).ln() * i / N).exp()
    nearest = float(power)
    off = float((power - Decimal(nearest)) / Decimal(nearest)) if i else 0.0
    return bits(off), (bits(nearest) - (i << 45)) % 2**64


def main():
    print(f"const TABLE: [(u64, u64); {N}] = [")
    for i in range(N):
        print(f"    ({', '.join(f'0x{b:016x}' for b in exp_row(i))}),")
    print("];")


main()
