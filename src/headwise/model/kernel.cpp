// Attention on tables, softmax, layer norm, dropout and cross-entropy for a chunk of sequences (see kernel.py), as
// plain C functions on data pointers: no torch, no Python headers, no threads, no state.
//
// Layouts, all float32 and row-major, padded so that a vector may run past the end of a row:
//   score table   [head, key row, query row]   rows: tokens, then positions; pitch `rows_pitch`
//   value table   [head, row, column]          pitch `writes_pitch`
//   weights       [sequence, head, key, query] pitches `keys_pitch` and `queries_pitch`; a dropped weight has its sign
//                                              turned, so that one array serves mixing and the softmax's gradient
//   activations   [sequence * query, column]   columns beyond the width are zero
// Every function adds to gradients and overwrites everything else.
//
// The same code (kernel_lanes.h) is compiled for the plain instruction set and, on x86, for AVX2 and AVX-512; the
// best the processor has is chosen when the library is loaded. No flag here lets the compiler assume that there are
// no NaNs: a loss that diverges must be seen.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "dropout masks are read as little-endian 16-bit lanes");

namespace {

constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15ull;
constexpr int QUERY_LANES = 8;
constexpr int COLUMNS = 64;  // columns worked on at a time: their values stay in the first-level cache

struct Drop {
    uint32_t threshold;  // 0: nothing is dropped
    float scale;
};

struct Shape {
    int32_t sequences, positions, queries, heads, dictionary, rows, writes, context;
    int32_t rows_pitch, writes_pitch, keys_pitch, queries_pitch;
    Drop drop;
};

struct AttentionForward {
    const int64_t* tokens;
    const float *score, *value;
    const uint64_t* keys;
    float *weights, *out;
    float* map;       // null, or [head, key, query]: weights are added
    double* entropy;  // null, or [head]: entropies are added
};

struct AttentionBackward {
    const int64_t* tokens;
    const float *value, *weights, *grads;
    float *score_grad, *value_grad;
};

struct CrossEntropy {
    int64_t count;
    int32_t classes, pitch;
    float weight;
    float* logits;
    const int64_t* targets;
    float* bias_grad;
};

struct Branch {
    int32_t sequences, positions, queries, dictionary, width, pitch;
    Drop drop;
    float epsilon;
    const uint64_t* keys;
    const float *branch, *offset;
    const int64_t* tokens;
    const float* stream;                 // residual from the input's table ...
    const float *before, *gain, *shift;  // ... or from activations, times gain plus shift
    float *out, *inverse_deviation;
};

struct BranchGradients {
    Branch forward;
    float* grad;
    const float *later, *later_gain;
    float *gain_grad, *shift_grad, *branch_grad, *offset_grad, *stream_grad;
};

struct Hidden {
    int32_t sequences, queries, width, pitch;
    Drop drop;
    const uint64_t* keys;
    float *hidden, *grad, *bias_grad;
};

struct Functions {
    void (*attention_forward)(const Shape&, const AttentionForward&);
    void (*attention_backward)(const Shape&, const AttentionBackward&);
    double (*cross_entropy)(const CrossEntropy&);
    void (*branch_forward)(const Branch&);
    void (*branch_backward)(const BranchGradients&);
    void (*relu_forward)(const Hidden&);
    void (*relu_backward)(const Hidden&);
    void (*drain)(float*, double*, long);
    void (*keep_masks)(uint64_t, int, uint32_t, uint16_t*);
};

// Zeroed working memory on a cache line's boundary.
template <class T>
struct Scratch {
    T* data;
    explicit Scratch(long count) {
        const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(T) + 127) / 64 * 64;
        data = static_cast<T*>(std::aligned_alloc(64, bytes));
        if (!data) throw std::bad_alloc();
        std::memset(data, 0, bytes);
    }
    ~Scratch() { std::free(data); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
};

}  // namespace

#define INLINE static inline __attribute__((always_inline))

namespace plain {
namespace {
constexpr int LANES = 4, WIDE = 2, KEYS = 4;
#include "kernel_lanes.h"
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
#include "kernel_lanes.h"
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
#include "kernel_lanes.h"
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

// Which instruction set is in use; `headwise_limit` lowers it, for tests.
int headwise_level() { return level; }
void headwise_limit(int highest) { level = highest < best_level() ? highest : best_level(); }

void headwise_attention_forward(const Shape* s, const AttentionForward* io) {
    at_level(level).attention_forward(*s, *io);
}
void headwise_attention_backward(const Shape* s, const AttentionBackward* io) {
    at_level(level).attention_backward(*s, *io);
}
double headwise_cross_entropy(const CrossEntropy* io) { return at_level(level).cross_entropy(*io); }
void headwise_branch_forward(const Branch* io) { at_level(level).branch_forward(*io); }
void headwise_branch_backward(const BranchGradients* io) { at_level(level).branch_backward(*io); }
void headwise_relu_forward(const Hidden* io) { at_level(level).relu_forward(*io); }
void headwise_relu_backward(const Hidden* io) { at_level(level).relu_backward(*io); }
void headwise_drain(float* part, double* sum, int64_t count) { at_level(level).drain(part, sum, count); }
void headwise_keep(uint64_t key, int32_t count, uint32_t threshold, uint16_t* keep) {
    at_level(level).keep_masks(key, count, threshold, keep);
}

}  // extern "C"
