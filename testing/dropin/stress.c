// Many slots with chains of every step, cloned, copied, reset, taken apart and freed: for valgrind. README.md says how to build it.
//
//   stress ROUNDS MODEL        frees all that it made; the model has a vocabulary of 2,048 tokens, and gives one row of logits
//   stress ROUNDS MODEL leak   forgets one sampler, to show that this is seen
#include "llama.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16, PAIRS = 4, N_VOCAB = 2048 };

static const struct llama_vocab * vocab;

static uint32_t state = 1;

static uint32_t below(uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static float real(float from, float to) {
    return from + (to - from) * (float) below(1 << 20) / (1 << 20);
}

// A sampler of our own, with memory of its own.
static const char * own_name(const struct llama_sampler * smpl) {
    (void) smpl;
    return "own";
}

static void own_accept(struct llama_sampler * smpl, llama_token token) {
    *(llama_token *) smpl->ctx = token;
}

static void own_apply(struct llama_sampler * smpl, llama_token_data_array * cur_p) {
    for (size_t i = 0; i < cur_p->size; i++) {
        if (cur_p->data[i].id == *(llama_token *) smpl->ctx) {
            cur_p->data[i].logit -= 1.0f;
        }
    }
}

static struct llama_sampler * own_clone(const struct llama_sampler * smpl);

static void own_free(struct llama_sampler * smpl) {
    free(smpl->ctx);
}

static struct llama_sampler_i own_i = {
    .name = own_name, .accept = own_accept, .apply = own_apply, .clone = own_clone, .free = own_free,
};

static struct llama_sampler * own(llama_token token) {
    llama_token * ctx = malloc(sizeof *ctx);
    *ctx = token;
    return llama_sampler_init(&own_i, ctx);
}

static struct llama_sampler * own_clone(const struct llama_sampler * smpl) {
    return own(*(llama_token *) smpl->ctx);
}

static struct llama_sampler * truncation(void) {
    const llama_logit_bias biases[] = { { 5, 1.5f }, { 7, -2.0f }, { N_VOCAB + 1, 3.0f } };
    const char * breakers[] = { "\n", " the", "x y", NULL, "", ", and" };
    switch (below(14)) {
        case 0: return llama_sampler_init_top_k((int32_t) below(400));
        case 1: return llama_sampler_init_top_p(real(0.3f, 1.1f), below(5));
        case 2: return llama_sampler_init_min_p(real(-0.1f, 0.3f), below(5));
        case 3: return llama_sampler_init_typical(real(0.3f, 1.1f), below(5));
        case 4: return llama_sampler_init_temp(real(0.1f, 2.0f));
        case 5: return llama_sampler_init_temp_ext(real(0.5f, 1.5f), real(-0.5f, 0.5f), real(0.5f, 2.0f));
        case 6: return llama_sampler_init_xtc(real(0.0f, 1.0f), real(0.0f, 0.6f), below(3), below(9));
        case 7: return llama_sampler_init_top_n_sigma(real(-0.5f, 3.0f));
        case 8: return llama_sampler_init_penalties(N_VOCAB, (int32_t) below(100), real(1.0f, 1.5f), real(0.0f, 0.5f), 0.1f);
        case 9: return llama_sampler_init_dry(NULL, real(0.0f, 1.0f), 1.75f, (int32_t) below(3), (int32_t) below(100), NULL, 0);
        case 11: return llama_sampler_init_dry(vocab, 0.8f, 1.75f, (int32_t) below(3), (int32_t) below(100), breakers, below(7));
        case 12: return llama_sampler_init_infill(vocab);
        case 10: return llama_sampler_init_logit_bias(N_VOCAB, 3, biases);
        default: return own((llama_token) below(N_VOCAB));
    }
}

static struct llama_sampler * selector(void) {
    switch (below(5)) {
        case 0: return llama_sampler_init_greedy();
        case 1: return llama_sampler_init_mirostat(N_VOCAB, below(9), 5.0f, 0.1f, 100);
        case 2: return llama_sampler_init_mirostat_v2(below(9), 5.0f, 0.1f);
        case 3: return llama_sampler_init_adaptive_p(real(0.0f, 1.0f), real(0.0f, 1.0f), below(9));
        default: return llama_sampler_init_dist(below(9));
    }
}

static struct llama_sampler * chain(int depth) {
    struct llama_sampler * made = llama_sampler_chain_init((llama_sampler_chain_params) { .no_perf = below(2) != 0 });
    for (uint32_t n = below(6); n > 0; n--) {
        llama_sampler_chain_add(made, depth < 2 && below(8) == 0 ? chain(depth + 1) : truncation());
    }
    if (depth == 0) {
        llama_sampler_chain_add(made, selector());
    }
    return made;
}

// A chain whose samplers have the types of each other such chain's, and parameters of their own.
static struct llama_sampler * alike(uint32_t pair) {
    const float a = real(0.2f, 0.9f);
    const llama_logit_bias bias = { (llama_token) below(N_VOCAB), a };
    struct llama_sampler * made = llama_sampler_chain_init((llama_sampler_chain_params) { .no_perf = below(2) != 0 });
    struct llama_sampler * members[] = {
        llama_sampler_init_logit_bias(N_VOCAB, 1, &bias),
        llama_sampler_init_penalties(N_VOCAB, 1 + (int32_t) below(9), 1.0f + a, a, 0.1f),
        llama_sampler_init_dry(NULL, a, 1.75f, (int32_t) below(3), 1 + (int32_t) below(50), NULL, 0),
        llama_sampler_init_top_k(100 + (int32_t) below(400)),
        llama_sampler_init_typical(0.1f + a, 1),
        llama_sampler_init_top_p(a, 1 + below(5)),
        llama_sampler_init_min_p(a / 10, 1 + below(5)),
        llama_sampler_init_xtc(a, a / 2, below(3), below(9)),
        llama_sampler_init_temp(a),
        llama_sampler_init_temp_ext(1.0f, a, 1.0f),
        llama_sampler_init_infill(vocab),
        own((llama_token) below(N_VOCAB)),
        pair == 0 ? llama_sampler_init_dist(below(9)) :
        pair == 1 ? llama_sampler_init_mirostat(N_VOCAB, below(9), a, 0.1f, 100) :
        pair == 2 ? llama_sampler_init_adaptive_p(a, a, below(9)) : llama_sampler_init_greedy(),
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        llama_sampler_chain_add(made, members[i]);
    }
    return made;
}

// Draws from logits at random and accepts the token; from an odd number of candidates, unless `whole`. Whether one was selected.
static bool draw(struct llama_sampler * smpl, llama_token_data * cands, bool whole) {
    const uint32_t n = !whole && below(4) == 0 ? 1 + below(50) : N_VOCAB;
    for (uint32_t i = 0; i < n; i++) {
        cands[i] = (llama_token_data) { (llama_token) i, real(-8.0f, 8.0f), 0.0f };
    }
    llama_token_data_array array = { cands, n, -1, false };
    llama_sampler_apply(smpl, &array);
    if (array.selected < 0 || (size_t) array.selected >= array.size) {
        return false;
    }
    llama_sampler_accept(smpl, array.data[array.selected].id);
    return true;
}

static void quiet(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

int main(int argc, char ** argv) {
    if (argc < 3) {
        printf("stress ROUNDS MODEL [leak]\n");
        return 2;
    }
    const int rounds = atoi(argv[1]);
    llama_log_set(quiet, NULL);
    struct llama_model_params params = llama_model_default_params();
    struct llama_model * model = llama_model_load_from_file(argv[2], params);
    if (model == NULL) {
        printf("%s does not load\n", argv[2]);
        return 2;
    }
    vocab = llama_model_get_vocab(model);
    struct llama_context_params context_params = llama_context_default_params();
    context_params.n_ctx = context_params.n_batch = 32;
    context_params.n_threads = context_params.n_threads_batch = 1;
    struct llama_context * ctx = llama_init_from_model(model, context_params);
    llama_token first = 1;
    if (ctx == NULL || llama_decode(ctx, llama_batch_get_one(&first, 1)) != 0) {
        printf("%s gives no logits\n", argv[2]);
        return 2;
    }
    struct llama_sampler * slots[SLOTS], * pairs[PAIRS][2];
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        pairs[pair][0] = alike(pair);
        pairs[pair][1] = alike(pair);
    }
    for (int i = 0; i < SLOTS; i++) {
        slots[i] = chain(0);
    }
    llama_token_data * cands = malloc(N_VOCAB * sizeof *cands);
    long made = SLOTS + 2 * PAIRS, drawn = 0, sampled = 0;
    uint32_t seen = 0;
    for (int round = 0; round < rounds; round++) {
        struct llama_sampler ** slot = &slots[below(SLOTS)];
        struct llama_sampler * other;
        switch (below(15)) {
            case 0: // Another request.
                llama_sampler_free(*slot);
                *slot = chain(0);
                made++;
                break;
            case 1: // A draft, thrown away.
                other = llama_sampler_clone(*slot);
                llama_sampler_accept(other, (llama_token) below(N_VOCAB));
                llama_sampler_free(other);
                made++;
                break;
            case 2: // A draft, kept.
                other = llama_sampler_clone(*slot);
                llama_sampler_free(*slot);
                *slot = other;
                made++;
                break;
            case 3: // State goes there and back.
                other = llama_sampler_clone(*slot);
                llama_sampler_copy(*slot, other);
                llama_sampler_copy(other, *slot);
                llama_sampler_free(other);
                made++;
                break;
            case 4:
                llama_sampler_reset(*slot);
                break;
            case 12: // State comes from chains of the same samplers with other parameters.
                for (uint32_t pair = 0; pair < PAIRS; pair++) {
                    struct llama_sampler * from = pairs[pair][below(2)];
                    struct llama_sampler * to = pairs[pair][below(2)];
                    draw(from, cands, true);
                    llama_sampler_copy(from, to);
                    draw(to, cands, true);
                    if (below(4) == 0) {
                        llama_sampler_reset(to);
                    }
                }
                break;
            case 13: // What llama-server shows of a request, and what it logs.
                seen += llama_sampler_get_seed(*slot) + (uint32_t) llama_perf_sampler(*slot).n_sample;
                llama_perf_sampler_print(*slot);
                if (below(2) == 0) {
                    llama_perf_sampler_reset(*slot);
                }
                for (int32_t i = -2; i <= llama_sampler_chain_n(*slot); i++) {
                    const struct llama_sampler * member = llama_sampler_chain_get(*slot, i);
                    seen += member != NULL ? (uint32_t) strlen(llama_sampler_name(member)) : 0;
                }
                break;
            case 14: // From a model's logits.
                seen += (uint32_t) llama_sampler_sample(*slot, ctx, -1);
                sampled++;
                break;
            case 5: // Taken apart and put together again.
                other = llama_sampler_chain_remove(*slot, 0);
                if (llama_sampler_chain_n(*slot) == 0) {
                    llama_sampler_chain_add(*slot, selector());
                    llama_sampler_free(other);
                } else {
                    llama_sampler_free(other);
                }
                break;
            default:
                if (!draw(*slot, cands, false)) {
                    printf("nothing was selected in round %d\n", round);
                    return 1;
                }
                drawn++;
        }
    }
    if (argc > 3 && strcmp(argv[3], "leak") == 0) {
        (void) llama_sampler_init_dist(1);
    }
    for (int i = 0; i < SLOTS; i++) {
        llama_sampler_free(slots[i]);
    }
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        llama_sampler_free(pairs[pair][0]);
        llama_sampler_free(pairs[pair][1]);
    }
    free(cands);
    llama_free(ctx);
    llama_model_free(model);
    printf("%d rounds, %ld chains made and freed, %ld tokens drawn, %ld sampled from a context (%u)\n", rounds, made, drawn, sampled, seen);
    return 0;
}
