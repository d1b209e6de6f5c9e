// Draws with drafts by llama.cpp itself: common_sampler_sample_and_accept_n of libllama-common, over a real context.
//
// Nothing is written into testing/data by this program: record_drafts.py builds and runs it, gives it the cases on standard input
// and reads its answers. From the root of the repository, with llama.cpp b11192's headers in $SRC and its libraries in $BIN:
//     INCLUDE="-I$SRC/include -I$SRC/common -I$SRC/ggml/include"
//     LIBS="-L$BIN -lllama-common -lllama -lggml -lggml-base -Wl,-rpath,$BIN"
//     g++ -O2 -std=c++17 $INCLUDE testing/record_drafts.cpp -o record_drafts $LIBS
//     ./record_drafts MODEL ROWS < cases
//
// A case is lines of words: `set NAME NUMBER`, `samplers LETTERS`, `breakers N` and N hex words, `prompt N` and N ids, `draft N` and
// N ids, `next N`: how many tokens to draw one by one afterwards. `run` ends it. For each case one line comes back, the tokens that
// sample_and_accept_n gave and, after a `|`, the next ones. The rows of logits are added to the file ROWS: one for each position of
// the draft and one more, then one for each next token.

#include "common.h"
#include "llama.h"
#include "sampling.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

struct Case {
    common_params_sampling sampling;
    std::vector<llama_token> prompt, draft;
    int next = 0;
};

[[noreturn]] void fail(const std::string & why) {
    std::cerr << "record_drafts: " << why << "\n";
    std::exit(1);
}

std::vector<llama_token> read_ids(std::istream & in) {
    size_t count = 0;
    in >> count;
    std::vector<llama_token> ids(count);
    for (auto & id : ids) {
        in >> id;
    }
    return ids;
}

std::string from_hex(const std::string & hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back((char) std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    return bytes;
}

// llama-server's names for what a number sets.
void set(common_params_sampling & s, const std::string & name, double value) {
    const std::map<std::string, std::function<void()>> fields = {
        { "seed",               [&] { s.seed = (uint32_t) value; } },
        { "temperature",        [&] { s.temp = value; } },
        { "dynatemp_range",     [&] { s.dynatemp_range = value; } },
        { "dynatemp_exponent",  [&] { s.dynatemp_exponent = value; } },
        { "top_k",              [&] { s.top_k = value; } },
        { "top_p",              [&] { s.top_p = value; } },
        { "min_p",              [&] { s.min_p = value; } },
        { "top_n_sigma",        [&] { s.top_n_sigma = value; } },
        { "xtc_probability",    [&] { s.xtc_probability = value; } },
        { "xtc_threshold",      [&] { s.xtc_threshold = value; } },
        { "typical_p",          [&] { s.typ_p = value; } },
        { "repeat_last_n",      [&] { s.penalty_last_n = value; } },
        { "repeat_penalty",     [&] { s.penalty_repeat = value; } },
        { "presence_penalty",   [&] { s.penalty_present = value; } },
        { "frequency_penalty",  [&] { s.penalty_freq = value; } },
        { "dry_multiplier",     [&] { s.dry_multiplier = value; } },
        { "dry_base",           [&] { s.dry_base = value; } },
        { "dry_allowed_length", [&] { s.dry_allowed_length = value; } },
        { "dry_penalty_last_n", [&] { s.dry_penalty_last_n = value; } },
        { "mirostat",           [&] { s.mirostat = value; } },
        { "mirostat_tau",       [&] { s.mirostat_tau = value; } },
        { "mirostat_eta",       [&] { s.mirostat_eta = value; } },
        { "adaptive_target",    [&] { s.adaptive_target = value; } },
        { "adaptive_decay",     [&] { s.adaptive_decay = value; } },
        { "min_keep",           [&] { s.min_keep = value; } },
    };
    const auto field = fields.find(name);
    if (field == fields.end()) {
        fail("no such field: " + name);
    }
    field->second();
}

bool read_case(std::istream & in, Case & c) {
    c = Case();
    std::string word, name;
    while (in >> word) {
        if (word == "run") {
            return true;
        } else if (word == "set") {
            double value = 0;
            in >> name >> value;
            set(c.sampling, name, value);
        } else if (word == "samplers") {
            in >> name;
            c.sampling.samplers = common_sampler_types_from_chars(name == "-" ? "" : name);
        } else if (word == "breakers") {
            size_t count = 0;
            in >> count;
            c.sampling.dry_sequence_breakers.clear();
            while (count-- > 0) {
                in >> name;
                c.sampling.dry_sequence_breakers.push_back(from_hex(name));
            }
        } else if (word == "prompt") {
            c.prompt = read_ids(in);
        } else if (word == "draft") {
            c.draft = read_ids(in);
        } else if (word == "next") {
            in >> c.next;
        } else {
            fail("no such word: " + word);
        }
    }
    return false;
}

struct Recorder {
    llama_model * model;
    llama_context * context;
    std::ofstream rows;
    int n_vocab;

    // Adds tokens from a position on. Logits for all of them, or for none.
    void decode(const std::vector<llama_token> & tokens, llama_pos from, bool logits) {
        if (tokens.empty()) {
            return;
        }
        llama_batch batch = llama_batch_init((int32_t) tokens.size(), 0, 1);
        for (size_t i = 0; i < tokens.size(); i++) {
            common_batch_add(batch, tokens[i], from + (llama_pos) i, { 0 }, logits);
        }
        if (llama_decode(context, batch) != 0) {
            fail("llama_decode failed");
        }
        llama_batch_free(batch);
        for (size_t i = 0; logits && i < tokens.size(); i++) {
            rows.write((const char *) llama_get_logits_ith(context, (int32_t) i), sizeof(float) * n_vocab);
        }
    }

    void run(Case & c) {
        llama_memory_t memory = llama_get_memory(context);
        llama_memory_clear(memory, true);
        common_sampler * sampler = common_sampler_init(model, c.sampling);
        for (const llama_token token : c.prompt) {
            common_sampler_accept(sampler, token, false);
        }

        const llama_pos last = (llama_pos) c.prompt.size() - 1;
        decode({ c.prompt.begin(), c.prompt.end() - 1 }, 0, false);
        std::vector<llama_token> batch = { c.prompt.back() };
        batch.insert(batch.end(), c.draft.begin(), c.draft.end());
        decode(batch, last, true);
        const std::vector<llama_token> tokens = common_sampler_sample_and_accept_n(sampler, context, c.draft);
        for (const llama_token token : tokens) {
            std::cout << token << ' ';
        }

        // What was right of the draft stays in the context, the rest does not.
        llama_pos position = last + (llama_pos) tokens.size();
        llama_memory_seq_rm(memory, 0, position, -1);
        llama_token token = tokens.back();
        std::cout << '|';
        for (int i = 0; i < c.next; i++) {
            decode({ token }, position++, true);
            token = common_sampler_sample(sampler, context, 0);
            common_sampler_accept(sampler, token, true);
            std::cout << ' ' << token;
        }
        std::cout << std::endl;
        common_sampler_free(sampler);
    }
};

} // namespace

int main(int argc, char ** argv) {
    if (argc != 3) {
        fail("usage: record_drafts MODEL ROWS < cases");
    }
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_backend_init();
    Recorder recorder;
    recorder.model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (recorder.model == nullptr) {
        fail("the model does not load");
    }
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 512;
    params.n_threads = params.n_threads_batch = 2;
    recorder.context = llama_init_from_model(recorder.model, params);
    recorder.n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(recorder.model));
    recorder.rows.open(argv[2], std::ios::binary);
    for (Case c; read_case(std::cin, c);) {
        recorder.run(c);
    }
    llama_free(recorder.context);
    llama_model_free(recorder.model);
}
