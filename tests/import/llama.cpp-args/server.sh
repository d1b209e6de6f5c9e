# How I start it.
./llama-server -m "models/My Model.gguf" -ngl 99 -c 8192 --jinja \
    --samplers 'penalties;top_k;min_p;temperature' \
    --top_k 40 --min-p 0.05 --temp 0.8 \
    --repeat-penalty 1.1 --repeat-last-n 128 -s 123
