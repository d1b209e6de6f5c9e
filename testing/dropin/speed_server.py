"""Times typical-p, mirostat and the dynamic temperature inside llama-server, with and without this library in LD_PRELOAD.

Both servers run at the same time, on one thread each, and are asked in turn, so that whatever else the machine does slows both. A
chain works on all 49,152 candidates of SmolLM2; top-k 1 says what the model alone takes. Two times are taken of each request: the
server's own (`predicted_ms / predicted_n`), which tokens a second come from, and the processor's time of the whole process for a
token, which other work on the machine does not lengthen. Of some rounds the least counts.

From the root of the repository:
    oracle/bin/python testing/dropin/speed_server.py --llama-server $BIN/llama-server --model $MODEL [--rounds 7] [--tokens 64]
Fails if the two draw different tokens.
"""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testing"))

from llama_server import Server  # noqa: E402

PROMPT = [504, 260, 1573, 282, 260, 1679, 314, 338, 260]
CHAINS = {
    "top-k 1 (the model alone)": {"samplers": ["top_k"], "top_k": 1},
    "llama-server's defaults": {},
    "typical-p 0.9, temperature 0.8": {"samplers": ["typ_p", "temperature"], "typical_p": 0.9},
    "typical-p 0.95, nothing else": {"samplers": ["typ_p"], "typical_p": 0.95},
    "the same with ignore_eos": {"samplers": ["typ_p"], "typical_p": 0.95, "ignore_eos": True},
    "mirostat 1": {"mirostat": 1},
    "mirostat 2": {"mirostat": 2},
    "dynamic temperature 0.8 ± 0.5": {"samplers": ["temperature"], "dynatemp_range": 0.5},
    "temperature 0.8, nothing else": {"samplers": ["temperature"]},
}


def processor_ms(server):
    """The time that the processor has spent on a server, in milliseconds."""
    threads = pathlib.Path(f"/proc/{server.process.pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text(encoding="ascii").split()[0]) for thread in threads) / 1e6


def main():
    parser = argparse.ArgumentParser(description="Times samplers inside llama-server with and without this library.")
    parser.add_argument("--llama-server", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--library", default=str(ROOT / "testing/dropin/target/release/libsampler_chain_dropin.so"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=64)
    arguments = parser.parse_args()

    preload = {"LD_PRELOAD": str(pathlib.Path(arguments.library).resolve(strict=True))}
    times = {name: ([], []) for name in CHAINS}
    with Server(arguments.llama_server, arguments.model, threads=1) as without, \
            Server(arguments.llama_server, arguments.model, threads=1, environment=preload) as preloaded:
        maps = pathlib.Path(f"/proc/{preloaded.process.pid}/maps").read_text(encoding="utf-8")
        if preload["LD_PRELOAD"] not in maps:
            sys.exit("the library is not loaded")
        for i in range(arguments.rounds):
            for name, request in CHAINS.items():
                pair = (without, preloaded) if i % 2 else (preloaded, without)
                drawn = []
                for server in pair:
                    before = processor_ms(server)
                    answer = server.complete(PROMPT, arguments.tokens, {"seed": 100 + i, **request})
                    drawn.append(answer["tokens"])
                    timings = answer["timings"]
                    busy = (processor_ms(server) - before) / timings["predicted_n"]
                    times[name][server is preloaded].append((timings["predicted_ms"] / timings["predicted_n"], busy))
                if drawn[0] != drawn[1]:
                    sys.exit(f"{name}, round {i}: {drawn[0]} and {drawn[1]}")
    best = {name: [[min(column) for column in zip(*side)] for side in sides] for name, sides in times.items()}
    (_, model), (_, model_preloaded) = next(iter(best.values()))
    print("| chain | processor, ms a token: without | with | beyond the model: without | with | tokens/s: without | with |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, ((own, busy), (own_preloaded, busy_preloaded)) in best.items():
        print(f"| {name} | {busy:.2f} | {busy_preloaded:.2f} | {busy - model:.2f} | {busy_preloaded - model_preloaded:.2f} | "
              f"{1000 / own:.1f} | {1000 / own_preloaded:.1f} |")


if __name__ == "__main__":
    main()
