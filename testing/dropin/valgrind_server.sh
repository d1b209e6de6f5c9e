#!/bin/sh
# llama-server with this library in LD_PRELOAD, under valgrind, with a few requests that want samplers of every kind. Fails if a block that the
# library allocated is definitely lost, or if valgrind saw an error in it.
#
#   valgrind_server.sh LLAMA_SERVER MODEL LIBRARY        with a small model, or it takes hours
set -eu
server=$1 model=$2 library=$3
log=$(mktemp)
address=127.0.0.1:18473
SAMPLER_CHAIN_LANES=avx2 LD_PRELOAD=$library valgrind --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --num-callers=40 --log-file="$log" "$server" -m "$model" -c 128 -np 2 -t 1 -tb 1 --no-warmup --host 127.0.0.1 --port 18473 >/dev/null 2>&1 &
process=$!
trap 'kill $process 2>/dev/null || true; rm -f "$log"' EXIT
until curl -sf -m 5 $address/health >/dev/null; do
    kill -0 $process
    sleep 2
done
n=0
while read -r body; do
    curl -sf -m 400 $address/completion -d "$body" >/dev/null
    n=$((n + 1))
done <<END
{"prompt":[1,2,3],"n_predict":4,"seed":1,"n_probs":2}
{"prompt":[1,2,3,1,2,3],"n_predict":4,"dry_multiplier":0.8,"repeat_penalty":1.2,"xtc_probability":0.5,"typical_p":0.9,"top_n_sigma":1.5}
{"prompt":[1,2],"n_predict":4,"mirostat":1}
{"prompt":[1,2],"n_predict":4,"mirostat":2}
{"prompt":[1,2],"n_predict":4,"samplers":["top_k","infill","adaptive_p"],"adaptive_target":0.3,"logit_bias":[[5,1.0]]}
{"prompt":[1,2],"n_predict":4,"grammar":"root ::= [a-z]+"}
{"prompt":[1,2],"n_predict":2,"samplers":[],"temperature":0}
END
kill $process
wait $process || true
echo "$n requests"
sed -n 's/^==[0-9]*== *\(definitely lost: .*\|ERROR SUMMARY: .*\)/\1/p' "$log"
# What is in the log is errors and lost blocks, with the functions of their stacks.
if grep 'sampler_chain_dropin\|sampler_steps' "$log"; then
    exit 1
fi
