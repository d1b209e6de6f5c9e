"""Draws docs/performance.svg from the CSV of testing/bench, and prints its Markdown table.

    python3 testing/plot_bench.py bench.csv docs/performance.svg    # the picture; the table goes to standard output

Needs Python alone. A row a chain, a panel a vocabulary, a mark an engine; the axis is logarithmic.
"""

import csv
import math
import statistics
import sys
from html import escape

# Engine, colour, shape. The shapes are for those who do not tell the colours apart.
ENGINES = [
    ("sampler-chain", "#d1495b", "circle"),
    ("libllama", "#1f4e79", "square"),
    ("llm-samplers", "#c98a00", "triangle"),
    ("candle", "#3a7d44", "diamond"),
    ("candle-no-min-p", "#3a7d44", "hollow"),
]
# The targets of the speed work: libllama's median over ours, at 151,669 and 262,144.
TARGETS = {
    "default": 12, "penalties": 30, "dry": 20, "top-k-200": 12, "top-p": 12, "min-p": 15, "temperature": 12,
    "typical-p": 50, "top-n-sigma": 20, "xtc": 50, "dynatemp": 40, "mirostat-1": 100, "mirostat-2": 100,
}
LEFT, TOP, PANEL, GAP, ROW = 100, 74, 310, 46, 26


def read(path):
    """The chains and sizes in the file's order, and the medians by (chain, size, engine)."""
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    chains = list(dict.fromkeys(line["chain"] for line in lines))
    sizes = list(dict.fromkeys(int(line["n_vocab"]) for line in lines))
    medians = {(line["chain"], int(line["n_vocab"]), line["engine"]): float(line["median_us"]) for line in lines}
    return chains, sizes, medians


def mark(shape, x, y, colour):
    points = {
        "triangle": f"{x:.1f},{y - 6:.1f} {x + 6:.1f},{y + 5:.1f} {x - 6:.1f},{y + 5:.1f}",
        "diamond": f"{x:.1f},{y - 6:.1f} {x + 6:.1f},{y:.1f} {x:.1f},{y + 6:.1f} {x - 6:.1f},{y:.1f}",
    }
    points["hollow"] = points["diamond"]
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{colour}"/>'
    if shape == "square":
        return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{colour}"/>'
    if shape == "hollow":
        return f'<polygon points="{points[shape]}" fill="white" stroke="{colour}" stroke-width="1.8"/>'
    return f'<polygon points="{points[shape]}" fill="{colour}"/>'


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'


def draw(chains, sizes, medians):
    low = math.floor(math.log10(min(medians.values())))
    high = math.ceil(math.log10(max(medians.values())))
    width = LEFT + len(sizes) * (PANEL + GAP)
    bottom = TOP + len(chains) * ROW
    height = bottom + 48
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" fill="#222">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    x = LEFT
    there = {engine for _, _, engine in medians}
    for engine, colour, shape in ENGINES:
        if engine in there:
            svg += [mark(shape, x + 6, 18, colour), text(x + 18, 22, engine, "start")]
            x += 50 + 7 * len(engine)
    svg += [f'<path d="M{x} 10v16" stroke="#888" stroke-width="2" stroke-dasharray="4 3"/>',
            text(x + 10, 22, "floor: one vector pass for the maximum", "start")]
    for row, chain in enumerate(chains):
        svg.append(text(LEFT - 10, TOP + row * ROW + 17, chain, "end"))
    for panel, size in enumerate(sizes):
        left = LEFT + panel * (PANEL + GAP)

        def place(us):
            return left + (math.log10(us) - low) / (high - low) * PANEL

        svg.append(text(left + PANEL / 2, TOP - 18, f"{size:,} tokens", extra=' font-weight="bold"'))
        for row in range(0, len(chains), 2):
            svg.append(f'<rect x="{left}" y="{TOP + row * ROW}" width="{PANEL}" height="{ROW}" fill="#f4f4f4"/>')
        for power in range(low, high + 1):
            x = place(10**power)
            svg.append(f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#ccc"/>')
            svg.append(text(x, bottom + 16, f"{10**power:,}" if power >= 0 else str(10**power)))
        svg.append(text(left + PANEL / 2, bottom + 36, "microseconds a token, median (logarithmic)"))
        floors = [us for (_, n, engine), us in medians.items() if n == size and engine == "floor"]
        x = place(statistics.median(floors))
        svg.append(f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#888" stroke-width="2" stroke-dasharray="4 3"/>')
        for row, chain in enumerate(chains):
            y = TOP + (row + 0.5) * ROW
            # Ours is drawn last, on top.
            for engine, colour, shape in reversed(ENGINES):
                us = medians.get((chain, size, engine))
                if us is not None:
                    title = f"{chain}, {size:,}, {engine}: {us:,.1f} µs"
                    svg.append(f"<g><title>{escape(title)}</title>{mark(shape, place(us), y, colour)}</g>")
    return "\n".join(svg + ["</svg>", ""])


def number(us):
    return "—" if us is None else f"{us:,.0f}" if us >= 10 else f"{us:.1f}"


def table(chains, sizes, medians):
    """A table a size: medians, how many times faster than libllama ours is, and the target where there is one."""
    for size in sizes:
        targets = size in (151_669, 262_144)
        print(f"\n**{size:,} tokens**\n")
        head = ["chain", "sampler-chain", "libllama", "llm-samplers", "candle", "floor", "libllama ÷ ours",
                "ours ÷ floor"]
        if targets:
            head += ["target"]
        print("| " + " | ".join(head) + " |")
        print("| --- |" + " ---: |" * (len(head) - 1))
        for chain in chains:
            us = {engine: us for (c, n, engine), us in medians.items() if (c, n) == (chain, size)}
            ours, llama, floor = us["sampler-chain"], us.get("libllama"), us["floor"]
            candle = number(us.get("candle"))
            if "candle-no-min-p" in us:
                candle = number(us["candle-no-min-p"]) + "*"
            row = [chain, number(ours), number(llama), number(us.get("llm-samplers")), candle, number(floor),
                   "—" if llama is None else f"{llama / ours:.2f}", f"{ours / floor:.1f}"]
            if targets:
                # The default chain's target has a second half.
                near = chain != "default" or ours / floor <= 2.5
                reached = llama is not None and llama / ours >= TARGETS[chain] and near
                row.append(f"{TARGETS[chain]}: " + ("reached" if reached else "**short**"))
            print("| " + " | ".join(row) + " |")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    chains, sizes, medians = read(sys.argv[1])
    with open(sys.argv[2], "w") as file:
        file.write(draw(chains, sizes, medians))
    table(chains, sizes, medians)


if __name__ == "__main__":
    main()
