// Prints the order in which libstdc++ walks a std::unordered_map of strings: for maps of several sizes, the places of the
// first 40 keys that are walked. The keys are "<|token number 0|>", "<|token number 1|>", ... inserted in this order.
//
// From the root of the repository:
//     g++ -O2 -std=c++17 testing/unordered_map_oracle.cpp -o map_oracle && ./map_oracle > testing/data/unordered_map.txt

#include <cstdio>
#include <string>
#include <unordered_map>

int main() {
    std::puts("# keys in the map: the places of the first 40 in the order of the walk (testing/unordered_map_oracle.cpp, g++ "
              __VERSION__ ")");
    for (int n : {0, 1, 2, 12, 13, 14, 15, 29, 30, 31, 59, 60, 61, 128, 258, 1000, 2048, 10274, 49152, 85230, 262144}) {
        std::unordered_map<std::string, int> map;
        for (int i = 0; i < n; ++i) {
            map["<|token number " + std::to_string(i) + "|>"] = i;
        }
        std::printf("%d:", n);
        int shown = 0;
        for (const auto & entry : map) {
            if (shown++ == 40) {
                break;
            }
            std::printf(" %d", entry.second);
        }
        std::puts("");
    }
}
