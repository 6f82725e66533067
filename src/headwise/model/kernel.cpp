// Loss and gradients of a one-block decoder on tables (see folded.py), for a range of sequences, as plain C functions on
// data pointers: no torch, no Python headers, no threads, no state.
//
// Layouts, all float32 and row-major, padded so that a vector may run past the end of a row; pads are zero:
//   score         [four heads, key row, query column, head]  rows: tokens, then positions; columns: tokens
//                                                (`tokens_pitch`), then the counted positions; pitch `score_pitch`
//   value         [head, row, column]            what a row writes through a head, or, where there is an `output_t`,
//                                                what it hands to the output matrix; pitch `value_pitch`
//   mixed         [sequence * query, column]     values summed over keys; all heads add to the same columns, or, where
//                                                there is an `output_t`, each has its own; pitch `mixed_pitch`
//   weights       [sequence, head, key, query]   pitches `keys_pitch`, `queries_pitch`; a dropped weight has its sign
//                                                turned, so that one array serves mixing and the softmax's gradient
//   activations   [sequence * query, column]     pitch `writes_pitch`, as everything that holds the stream
// A matrix that is used both ways comes twice: `hidden_t` is `hidden` transposed, so that every product reads rows.
//
// The same code is compiled for the plain instruction set and, on x86, for AVX2 and AVX-512; the best the processor has
// is chosen when the library is loaded. No flag lets the compiler assume that there are no NaNs: a loss that diverges
// must be seen.

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#ifndef HEADWISE_SOURCES
#error "setup.py builds the kernel: it compiles in the hash of the sources"
#endif

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "dropout masks are read as little-endian 16-bit lanes");

namespace {

constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15ull;
constexpr int COLUMNS = 64;             // columns worked on at a time,
constexpr int VALUE_BYTES = 3 << 13;    // in as many heads as keep the values in the first-level cache

enum Site { EMBEDDING = 0, ATTENTION = 1, ATTENTION_BRANCH = 2, MLP = 3, MLP_BRANCH = 4, SITES = 5 };

// Where a step's time goes.
enum Stage { ATTEND = 0, ROWWISE = 1, PRODUCTS = 2, LOSS = 3, ATTEND_BACK = 4, SUMS = 5, STAGES = 6 };

class Stopwatch {
    double *seconds, last;
    static double now() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }

   public:
    explicit Stopwatch(double* to) : seconds(to), last(to ? now() : 0) {}
    void lap(Stage stage) {
        if (!seconds) return;
        const double at = now();
        seconds[stage] += at - last;
        last = at;
    }
};

struct Drop {
    uint32_t threshold;  // 0: nothing is dropped
    float scale;
};

struct Model {
    int32_t positions, queries, heads, dictionary, rows, writes, units, context;
    int32_t tokens_pitch, score_pitch, writes_pitch, keys_pitch, queries_pitch, units_pitch, read_pitch;
    int32_t value_columns, value_pitch, mixed_pitch;
    int32_t head_size, score_blocks, value_blocks, project_rows;  // with dropped inputs only, see kernel_dropped.h
    int32_t residual, norm;
    int32_t together, tile, chunk;  // sequences that go through the block together, that memory is for, between sums in
                                    // double
    float epsilon;
    Drop drops[SITES];
    const float *score, *value, *output_t, *output, *stream, *offset, *project, *lag;
    const float *hidden_t, *hidden, *hidden_bias, *gain, *shift, *back, *back_t, *back_bias;
    const float *read_t, *read, *read_bias;
};

struct Batch {
    int64_t first, last;  // sequences
    const int64_t *tokens, *targets;
    const uint64_t* keys[SITES];  // one per sequence; null without dropout
    float weight;
    double* seconds;  // null, or [STAGES]: time spent is added
    uint64_t key(Site site, long sequence) const { return keys[site] ? keys[site][sequence] : 0; }
};

struct Gradients {
    float *score, *value, *output_t, *stream, *offset, *project, *lag;
    float *hidden_t, *hidden_bias, *gain, *shift, *back, *back_bias, *read_t, *read_bias;
    float* part;  // where all of the above lie
    double* total;
    int64_t size;
};

struct Attended {
    float* logits;  // [sequence, query, token]
    float* map;     // [head, key, query], zero
    double *map_total, *entropy;
};

struct Functions {
    double (*train)(const Model&, const Batch&, const Gradients&);
    void (*evaluate)(const Model&, const Batch&, const Attended&);
    void (*keep)(uint64_t, int, uint32_t, uint16_t*);
};

enum Fill { ZEROS, NOTHING };

// Working memory on a cache line's boundary.
template <class T>
struct Scratch {
    T* data;
    explicit Scratch(long count, Fill fill = ZEROS) {
        const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(T) + 127) / 64 * 64;
        data = static_cast<T*>(std::aligned_alloc(64, bytes));
        if (!data) throw std::bad_alloc();
        if (fill == ZEROS) std::memset(data, 0, bytes);
    }
    ~Scratch() { std::free(data); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
};

}  // namespace

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
// Lanes of two vectors of eight, counted 0 to 15.
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE_EIGHT __builtin_shufflevector
#define SHUFFLE_SHORTS __builtin_shufflevector
#else
#define SHUFFLE_EIGHT(a, b, ...) __builtin_shuffle(a, b, EightInts{__VA_ARGS__})
#define SHUFFLE_SHORTS(a, b, ...) __builtin_shuffle(a, b, EightShorts{__VA_ARGS__})
#endif

// Two vectors of four side by side.
#if defined(__clang__) || __GNUC__ >= 12
#define JOIN_FOURS(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#else
#define JOIN_FOURS(a, b) (Eight{a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]})
#endif

namespace plain {
namespace {
constexpr int LANES = 4, WIDE = 2, KEYS = 4;
#include "kernel_vectors.h"
#include "kernel_scores.h"
#include "kernel_values.h"
#include "kernel_attention.h"
#include "kernel_dropped.h"
#include "kernel_loss.h"
#include "kernel_block.h"
}  // namespace
}  // namespace plain

#if defined(__x86_64__) && defined(__GNUC__)
#define HEADWISE_DISPATCH 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2")
#endif
namespace avx2 {
namespace {
constexpr int LANES = 8, WIDE = 2, KEYS = 4;
#include "kernel_vectors.h"
#include "kernel_scores.h"
#include "kernel_values.h"
#include "kernel_attention.h"
#include "kernel_dropped.h"
#include "kernel_loss.h"
#include "kernel_block.h"
}  // namespace
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(                                                                     \
    __attribute__((target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"))), \
    apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
namespace avx512 {
namespace {
constexpr int LANES = 16, WIDE = 4, KEYS = 8;
#include "kernel_vectors.h"
#include "kernel_scores.h"
#include "kernel_values.h"
#include "kernel_attention.h"
#include "kernel_dropped.h"
#include "kernel_loss.h"
#include "kernel_block.h"
}  // namespace
}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace {

enum Level { PLAIN = 0, AVX2 = 1, AVX512 = 2 };

int best_level() {
#ifdef HEADWISE_DISPATCH
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return AVX2;
#endif
    return PLAIN;
}

const Functions& at_level(int level) {
#ifdef HEADWISE_DISPATCH
    if (level == AVX512) return avx512::functions;
    if (level == AVX2) return avx2::functions;
#endif
    (void)level;
    return plain::functions;
}

int level = best_level();

}  // namespace

extern "C" {

// Which sources this was built from (kernel_sources.py), and by which compiler.
const char* headwise_sources() { return HEADWISE_SOURCES; }
const char* headwise_compiler() { return __VERSION__; }

// Sizes of the structures, for the test that holds them to Python's.
void headwise_sizes(int64_t* sizes) {
    sizes[0] = sizeof(Model);
    sizes[1] = sizeof(Batch);
    sizes[2] = sizeof(Gradients);
    sizes[3] = sizeof(Attended);
}

// Which instruction set is in use; `headwise_limit` lowers it, for tests.
int headwise_level() { return level; }
void headwise_limit(int highest) { level = highest < best_level() ? highest : best_level(); }

double headwise_train(const Model* m, const Batch* batch, const Gradients* to) {
    return at_level(level).train(*m, *batch, *to);
}
void headwise_evaluate(const Model* m, const Batch* batch, const Attended* watch) {
    at_level(level).evaluate(*m, *batch, *watch);
}
void headwise_keep(uint64_t key, int32_t count, uint32_t threshold, uint16_t* keep) {
    at_level(level).keep(key, count, threshold, keep);
}

}  // extern "C"
