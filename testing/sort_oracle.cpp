// Records in which order libstdc++'s std::sort and std::partial_sort leave arrays whose keys tie.
//
// Neither is stable, so what they do with equal keys is part of what llama.cpp does. Each line of the output is one
// array: its keys, and the ids (the indices before sorting) in the order the real function left the WHOLE array in.
// Elements are {id, key as float} and are compared by `a.key > b.key`, as llama.cpp compares logits.
//
// From the root of the repository, with the compiler whose library is to be recorded:
//     g++ -O2 -std=c++17 testing/sort_oracle.cpp -o sort_oracle && ./sort_oracle | gzip -9n > testing/data/sort.jsonl.gz
// The same compiler and library write the same bytes again, but for the processor's name in the first line.

#include <gnu/libc-version.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

struct Element {
    int id;
    float key;
};

using Keys = std::vector<int>;

static const auto by_key = [](const Element & a, const Element & b) { return a.key > b.key; };

static std::vector<Element> elements(const Keys & keys) {
    std::vector<Element> out;
    for (int i = 0; i < (int) keys.size(); ++i) {
        out.push_back({i, (float) keys[i]});
    }
    return out;
}

// ---------------------------------------------------------------------------------------------------- output

static void print_list(const char * name, const std::vector<int> & list) {
    std::printf(",\"%s\":[", name);
    for (size_t i = 0; i < list.size(); ++i) {
        std::printf(i ? ",%d" : "%d", list[i]);
    }
    std::printf("]");
}

static void print_case(const std::string & name, const char * op, int middle, const Keys & keys,
                       const std::vector<Element> & sorted) {
    std::vector<int> order;
    for (const Element & e : sorted) {
        order.push_back(e.id);
    }
    std::printf("{\"name\":\"%s\",\"op\":\"%s\"", name.c_str(), op);
    if (middle >= 0) {
        std::printf(",\"middle\":%d", middle);
    }
    print_list("keys", keys);
    print_list("order", order);
    std::printf("}\n");
}

static void record_sort(const std::string & name, const Keys & keys) {
    auto array = elements(keys);
    std::sort(array.begin(), array.end(), by_key);
    print_case(name, "sort", -1, keys, array);
}

static void record_partial_sort(const std::string & name, const Keys & keys, int middle) {
    auto array = elements(keys);
    std::partial_sort(array.begin(), array.begin() + middle, array.end(), by_key);
    print_case(name + "/middle-" + std::to_string(middle), "partial_sort", middle, keys, array);
}

static void print_head() {
    std::string processor = "unknown", line;
    std::ifstream info("/proc/cpuinfo");
    while (std::getline(info, line)) {
        if (line.rfind("model name", 0) == 0) {
            processor = line.substr(line.find(':') + 2);
            break;
        }
    }
    std::printf("{\"head\":{\"program\":\"std::sort and std::partial_sort of libstdc++ %d\",\"build\":\"-O2 -std=c++17\","
                "\"compiler\":\"g++ %s\",\"libc\":\"glibc %s\",\"processor\":\"%s\",\"model\":null,"
                "\"recorder\":\"testing/sort_oracle.cpp\"}}\n",
                __GLIBCXX__, __VERSION__, gnu_get_libc_version(), processor.c_str());
}

// ---------------------------------------------------------------------------------------------------- kinds of keys

static Keys shuffled(int n, uint32_t seed) {
    Keys keys(n);
    for (int i = 0; i < n; ++i) {
        keys[i] = i;
    }
    std::mt19937 rng(seed);
    for (int i = n - 1; i > 0; --i) {
        std::swap(keys[i], keys[rng() % (i + 1)]);
    }
    return keys;
}

static Keys levels(int n, int count, uint32_t seed) {
    std::mt19937 rng(seed);
    Keys keys(n);
    for (int & key : keys) {
        key = (int) (rng() % count);
    }
    return keys;
}

static Keys mapped(int n, const std::function<int(int)> & f) {
    Keys keys(n);
    for (int i = 0; i < n; ++i) {
        keys[i] = f(i);
    }
    return keys;
}

static std::vector<std::pair<std::string, Keys>> kinds(int n) {
    const uint32_t seed = 1000u + (uint32_t) n;
    return {
        {"distinct", shuffled(n, seed)},
        {"ties-2", levels(n, 2, seed)},
        {"ties-3", levels(n, 3, seed)},
        {"ties-8", levels(n, 8, seed)},
        {"equal", Keys(n, 7)},
        {"ascending", mapped(n, [](int i) { return i; })},
        {"descending", mapped(n, [n](int i) { return n - i; })},
        {"organ-pipe", mapped(n, [n](int i) { return std::min(i, n - 1 - i); })},
    };
}

// ---------------------------------------------------------------------------------------------------- killers

// An adversary in the manner of McIlroy: it sorts items whose values it has not decided yet. While two undecided items
// are compared, one of them (the likely pivot) gets the best value that is still free. The values it ends with are those
// for which every pivot was as bad as it can be.
static Keys killer(int n) {
    const int undecided = n;
    std::vector<int> rank(n, undecided);
    std::vector<int> items(n);
    for (int i = 0; i < n; ++i) {
        items[i] = i;
    }
    int next_rank = 0;
    int likely_pivot = 0;
    std::sort(items.begin(), items.end(), [&](int a, int b) {
        if (rank[a] == undecided && rank[b] == undecided) {
            rank[a == likely_pivot ? a : b] = next_rank++;
        }
        if (rank[a] == undecided) {
            likely_pivot = a;
        } else if (rank[b] == undecided) {
            likely_pivot = b;
        }
        return rank[a] < rank[b];
    });
    return mapped(n, [&](int i) { return n - rank[i]; });
}

// Whether a quicksort with a median of three and a limit of 2 * floor(log2 n) levels runs out of levels on these keys.
// Written from a description of the algorithm: only the splitting is followed, to know whether the heap sort is reached.
static bool reaches_heap_sort(const Keys & keys) {
    auto before = [](int a, int b) { return a > b; };
    std::function<bool(Keys &, int, int, int)> split = [&](Keys & k, int first, int last, int depth) {
        while (last - first > 16) {
            if (depth-- == 0) {
                return true;
            }
            const int a = first + 1, b = first + (last - first) / 2, c = last - 1;
            int median;
            if (before(k[a], k[b])) {
                median = before(k[b], k[c]) ? b : before(k[a], k[c]) ? c : a;
            } else {
                median = before(k[a], k[c]) ? a : before(k[b], k[c]) ? c : b;
            }
            std::swap(k[first], k[median]);
            int left = first + 1, right = last;
            for (;;) {
                while (before(k[left], k[first])) {
                    ++left;
                }
                --right;
                while (before(k[first], k[right])) {
                    --right;
                }
                if (left >= right) {
                    break;
                }
                std::swap(k[left++], k[right]);
            }
            if (split(k, left, last, depth)) {
                return true;
            }
            last = left;
        }
        return false;
    };
    int depth = 0;
    for (size_t n = keys.size(); n > 1; n >>= 1) {
        depth += 2;
    }
    Keys copy = keys;
    return split(copy, 0, (int) copy.size(), depth);
}

static void record_killer(const std::string & name, const Keys & keys) {
    if (!reaches_heap_sort(keys)) {
        std::fprintf(stderr, "%s does not reach the heap sort\n", name.c_str());
        std::exit(1);
    }
    record_sort(name, keys);
}

static void record_killers() {
    for (int n : {72, 96, 128, 160, 200, 256, 257, 300, 400, 500, 700, 1000, 1500}) {
        const std::string name = "killer/" + std::to_string(n);
        const Keys keys = killer(n);
        record_killer(name, keys);

        // the same array with ties: every second rank is merged with its neighbour
        const Keys halved = mapped(n, [&](int i) { return keys[i] / 2; });
        if (reaches_heap_sort(halved)) {
            record_killer(name + "/halved", halved);
        } else {
            record_sort("beaten-killer/" + std::to_string(n) + "/halved", halved);
        }
    }
    // Ties inside the part that falls to the heap sort: the keys below a level become that level.
    for (int n : {128, 200, 300, 500, 1000}) {
        const Keys keys = killer(n);
        for (int percent : {30, 50, 60}) {
            const int level = n * percent / 100;
            const Keys floored = mapped(n, [&](int i) { return keys[i] < level ? keys[i] / 8 : keys[i]; });
            const std::string name = std::to_string(n) + "/tied-below-" + std::to_string(percent) + "-percent";
            if (reaches_heap_sort(floored)) {
                record_killer("killer/" + name, floored);
            } else {
                record_sort("beaten-killer/" + name, floored);
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------- everything

int main() {
    print_head();

    std::vector<int> sizes;
    for (int n = 0; n <= 40; ++n) {
        sizes.push_back(n);
    }
    for (int n : {63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 500, 1000}) {
        sizes.push_back(n);
    }
    for (int n : sizes) {
        for (const auto & [kind, keys] : kinds(n)) {
            record_sort("sort/" + kind + "/" + std::to_string(n), keys);
        }
    }

    record_killers();

    for (int n : {0, 1, 2, 3, 5, 16, 17, 33, 64, 129, 257}) {
        std::vector<int> middles;
        for (int middle : {0, 1, 2, n / 2, n - 1, n}) {
            if (middle >= 0 && middle <= n && std::find(middles.begin(), middles.end(), middle) == middles.end()) {
                middles.push_back(middle);
            }
        }
        for (const auto & [kind, keys] : kinds(n)) {
            for (int middle : middles) {
                record_partial_sort("partial/" + kind + "/" + std::to_string(n), keys, middle);
            }
        }
    }
    for (int middle : {1, 40, 128, 500, 999}) {
        record_partial_sort("partial/ties-8/1000", levels(1000, 8, 77), middle);
        record_partial_sort("partial/killer/1000", killer(1000), middle);
    }
}
