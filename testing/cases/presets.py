"""Command lines and INI files that llama-server is started with."""

COMMAND_LINES = [
    "--top-k 20 --temp 0.7",
    "--samplers 'penalties;top_k;min_p;temperature' --top_k 40 --min-p 0.05 --repeat-penalty 1.1 --repeat-last-n 128 -s 123",
    "--samplers 'top_k;typical_p;tfs_z;Temp;nucleus' --sampling-seq kpt",
    "--sampler-seq akt --adaptive-target 0.55 --adaptive-decay 0.95 --temperature 1 --top-k 100x --typical-p 0.9",
    "--dry-multiplier 0.8 --dry-base 0.5 --dry-allowed-length 3 --dry-penalty-last-n 1024 --temp 0.9 --temp 1.1",
    "--mirostat 2 --mirostat-ent 4.5 --mirostat-lr 0.15 --top-k 50",
    "--temp -1 --seed -2 --top-nsigma 1.5 --typical 0.95",
    "--temp 0x1p-1 --min-p ' .5' --top-p 1e-1z --top-k ' 12abc' --seed 4294967294",
    "--temp 1.000000059604644775390625000001 --top-p 0.1 --xtc-probability .5 --xtc-threshold 0.30000000000000004",
    "--dynatemp-range 0.5 --dynatemp-exp 1.3 --presence-penalty 0.25 --frequency-penalty -0.5 --repeat-last-n 0",
    # These it refuses.
    "--repeat-penalty 0",
    "--temp x",
    "--top-k",
    "--top-k=20",
    "--logit-bias 15043",
    "--repeat-penalty -1.5 --top-k 5",
]

INI_FILES = [
    "version = 1\n[*]\ntemp = 0.6 ; as its card says\ntop-k = 20\ntop-p=0.95# and this\n",
    "samplers = top_k;temperature\ntemp = 0.7\n",
    "temp = 1.5\ntop-k = 3\n[*]\ntemp = 0.5\nmin-p = 0.2\n[other]\ntop-k = 99\n",
    "[*]\ntop-k = 3\nmin-p = 0.3\n[*]\ntop-k = 4\n",
    "temp = 0.5\r\ntemp = 0.25\r\nsampler-seq = mt\r\n",
    "LLAMA_ARG_TOP_K = 7\ns = 77\ntemperature = 0.125\ntypical-p = 0.5\ntop_p = 0.5\n",
    "samplers = top_k\nsampler-seq = mt\n",
    "sampler-seq = mt\nsamplers = top_k\n",
    "temp = 0.5\ntemperature = 0.25\ntypical-p = 0.5\ntypical = 0.75\n",
    "# nothing\n\n   ; here\n",
    "top-k =\nmin-p = 0.1\n",
    "top-k = 5\n[unclosed\n",
    "what is this\n",
]
