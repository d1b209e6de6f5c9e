// Makes one kind of sampler wrong: that which SAMPLER_CHAIN_WRONG names. compare_server.py builds it, preloads it before this folder's library, and
// must see that the answers differ. Each function calls the next library's with one argument changed a little.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_wrong(const char * name) {
    const char * wrong = getenv("SAMPLER_CHAIN_WRONG");
    return wrong != NULL && strcmp(wrong, name) == 0;
}

// A sampler's function with its parameters, in brackets, and what the next library's is given, which may ask for `wrong`.
#define SAMPLER(kind, parameters, ...)                                                              \
    void * llama_sampler_init_##kind parameters {                                                   \
        const bool wrong = is_wrong(#kind);                                                         \
        void * (*next) parameters;                                                                  \
        *(void **) &next = dlsym(RTLD_NEXT, "llama_sampler_init_" #kind);                           \
        return next(__VA_ARGS__);                                                                   \
    }

SAMPLER(top_k, (int32_t k), k - wrong)
SAMPLER(top_p, (float p, size_t keep), wrong ? p * 0.9f : p, keep)
SAMPLER(min_p, (float p, size_t keep), wrong ? p * 1.5f : p, keep)
SAMPLER(typical, (float p, size_t keep), wrong ? p * 0.9f : p, keep)
SAMPLER(temp, (float t), wrong ? t * 1.001f : t)
SAMPLER(temp_ext, (float t, float delta, float exponent), wrong ? t * 1.001f : t, delta, exponent)
SAMPLER(top_n_sigma, (float n), wrong ? n * 0.9f : n)
SAMPLER(xtc, (float p, float t, size_t keep, uint32_t seed), p, t, keep, seed ^ wrong)
SAMPLER(dist, (uint32_t seed), seed ^ wrong)
SAMPLER(mirostat, (int32_t n, uint32_t seed, float tau, float eta, int32_t m), n, seed, wrong ? tau * 0.9f : tau, eta, m)
SAMPLER(mirostat_v2, (uint32_t seed, float tau, float eta), seed, wrong ? tau * 0.9f : tau, eta)
SAMPLER(adaptive_p, (float target, float decay, uint32_t seed), wrong ? target * 0.9f : target, decay, seed)
SAMPLER(penalties, (int32_t n, int32_t last_n, float repeat, float freq, float present), n, last_n, repeat, wrong ? freq * 1.01f : freq,
        present)
SAMPLER(dry, (const void * vocab, float multiplier, float base, int32_t allowed, int32_t last_n, const char ** breakers, size_t n), vocab,
        wrong ? multiplier * 1.01f : multiplier, base, allowed, last_n, breakers, n)
SAMPLER(logit_bias, (int32_t n, int32_t n_bias, const void * bias), n, n_bias - wrong, bias)
SAMPLER(infill, (const void * vocab), wrong ? NULL : vocab)
