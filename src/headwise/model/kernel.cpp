// Loss and gradients of any decoder for a range of sequences, as plain C functions on data pointers: no torch, no Python
// headers, no threads, no state.
//
// Layouts, all float32 and row-major, padded so that a vector may run past the end of a row; pads are zero:
//   score         [four heads, key row, query column, head]  rows: tokens, then positions; columns: tokens
//                                                (`tokens_pitch`), then the counted positions; pitch `score_pitch`
//   value         [head, row, column]            what a row writes through a head, or, where there is an `output_t`,
//                                                what it hands to the output matrix; pitch `value_pitch`
//   mixed         [sequence * query, column]     values summed over keys; all heads add to the same columns, or, where
//                                                there is an `output_t`, each has its own; pitch `mixed_pitch`
//   weights       [sequence, head, key, query]   pitches `keys_pitch`, `queries_pitch`; a dropped weight has its sign
//                                                turned, so that one array serves mixing and the softmax's gradient;
//                                                on tables without such drops as the scores lie (kernel_quads.h)
//   activations   [sequence * query, column]     pitch `writes_pitch`, as everything that holds the stream
// A matrix that is used both ways comes twice: `hidden_t` is `hidden` transposed, so that every product reads rows.
//
// The same code is compiled for the plain instruction set and, on x86, for AVX2 and AVX-512; the best the processor has
// is chosen when the library is loaded. No flag lets the compiler assume that there are no NaNs: a loss that diverges
// must be seen.

#include "kernel_common.h"

namespace plain {
namespace {
constexpr int LANES = 4, WIDE = 2, KEYS = 4;
#include "kernel_level.h"
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
#include "kernel_level.h"
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
#include "kernel_level.h"
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
    sizes[0] = sizeof(Block);
    sizes[1] = sizeof(Batch);
    sizes[2] = sizeof(Gradients);
    sizes[3] = sizeof(Attended);
}

// Which instruction set is in use; `headwise_limit` lowers it, for tests.
int headwise_level() { return level; }
void headwise_limit(int highest) { level = highest < best_level() ? highest : best_level(); }

// One batch, one set of gradients and one attention summary for each block.
double headwise_train(const Model* model, const Batch* batches, const Gradients* to) {
    return at_level(level).train(*model, batches, to);
}
void headwise_evaluate(const Model* model, const Batch* batches, const Attended* watch) {
    at_level(level).evaluate(*model, batches, watch);
}
void headwise_keep(uint64_t key, int32_t count, uint32_t threshold, uint16_t* keep) {
    at_level(level).keep(key, count, threshold, keep);
}

}  // extern "C"
