"""Records what the reference does of steps that llama.cpp does not have: those that reshape, cut by shape or draw in their own way.

Their programs want a GPU, or are AGPL, so that their formulas are in numpy here, in the rooms of `cases/` whose names begin with
`shape_`, written apart from the Rust. One file a step, testing/data/steps-<step>.jsonl.

From the root of the repository, with numpy and g++ (libstdc++ sorts):
    python testing/record_community_shapes.py [--out testing/data]
Every seed comes from the name of its case. The recorder refuses a case in which another library's exp or log could turn a decision:
what is compared there is at least 1e-4 apart, or exact.
"""

import argparse
import pathlib

import numpy as np

import oracle_lib as oracle
from cases import shape_gumbel, shape_smoothing, shape_tfs, shape_top_p_decay, shapes

ROOMS = [shape_smoothing, shape_tfs, shape_top_p_decay, shape_gumbel]


def main():
    parser = argparse.ArgumentParser(description="Records reference results of steps that llama.cpp does not have.")
    parser.add_argument("--out", default="testing/data")
    arguments = parser.parse_args()

    recorded = shapes.Shapes()
    for room in ROOMS:
        room.cases(recorded)
    head = oracle.head("the formulas of the steps' papers and programs, in numpy", "testing/record_community_shapes.py")
    head["build"] = f"numpy {np.__version__}"
    for file, cases in recorded.by_file.items():
        path = pathlib.Path(arguments.out) / f"steps-{file}.jsonl"
        oracle.write_lines(path, head, cases)
        print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
