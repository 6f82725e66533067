// What every instruction level shares: the structures that Python fills, and working memory.
// Included once, outside of any instruction level.

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

// What a block's attention reads: tables of scores and values, tables with dropped coordinates taken away, tables of
// queries, keys and values, or the stream itself.
enum Source { TABLES = 0, DROPPED = 1, ROWS = 2, DENSE = 3 };

// The layer norm of a sum. POST: all that follows sees the normalised sum. PRE: branches read the normalised sum, and
// the residual connection carries the sum itself.
enum Norm { NONE = 0, POST = 1, PRE = 2 };

constexpr int MOST_BLOCKS = 256;

// One block: sizes, distances of rows (`_pitch`), and where its weights lie. `token_rows` counts the tokens that tables
// have rows for, `dictionary` those that are predicted.
struct Block {
    int32_t positions, queries, heads, dictionary, token_rows, rows, writes, units, context;
    int32_t tokens_pitch, score_pitch, writes_pitch, keys_pitch, queries_pitch, units_pitch, read_pitch;
    int32_t value_columns, value_pitch, mixed_pitch;
    int32_t head_size, score_blocks, value_blocks, project_rows;  // the last three with DROPPED only
    int32_t source, first, pairs, merged;  // `pairs`: ROWS has one row per token and position, not the sum of two
    int32_t reads, reads_pitch, stream_pitch, head_pitch, query_pitch, key_pitch, values_pitch;
    int32_t residual, input_norm, attention_norm, mlp_norm;
    int32_t together, tile, chunk;  // sequences that go through the block together, that memory is for, between sums in
                                    // double
    float epsilon;
    Drop drops[SITES];
    const float *score, *value, *output_t, *output, *stream, *offset, *project, *lag;
    const float *query_rows, *key_rows, *value_rows;
    const float *query, *query_back, *query_bias, *key, *key_back, *key_bias, *values, *values_back, *values_bias;
    const float *hidden_t, *hidden, *hidden_bias, *gain, *shift, *back, *back_t, *back_bias, *out_gain, *out_shift;
    const float *read_t, *read, *read_bias;
};

// The blocks of a decoder, first to last.
struct Model {
    int64_t blocks;
    const Block* block;
};

struct Batch {
    int64_t first, last;  // sequences
    const int64_t *tokens, *targets;
    const uint64_t* keys[SITES];  // one per sequence; null without dropout
    float weight;
    double* seconds;  // null, or [STAGES]: time spent is added
    uint64_t key(Site site, long sequence) const { return keys[site] ? keys[site][sequence] : 0; }
};

// Consecutive sequences of a batch that go through a block together. `slot` is the first one's place among those that
// memory is for; it is 0 unless sequences go one by one.
struct Sequences {
    const Batch& batch;
    long start;
    int count, slot;
    const int64_t* tokens(const Block& m, int n) const { return batch.tokens + (start + n) * m.positions; }
    uint64_t key(Site site, int n) const { return batch.key(site, start + n); }
};

struct Gradients {
    float *score, *value, *output_t, *stream, *offset, *project, *lag;
    float *query_t, *query_bias, *key_t, *key_bias, *values_t, *values_bias;
    float *hidden_t, *hidden_bias, *gain, *shift, *back, *back_bias, *out_gain, *out_shift, *read_t, *read_bias;
    float *query_rows, *key_rows, *value_rows;
    float* part;  // where all of the above lie, of all blocks
    double* total;
    int64_t size, seldom;  // the first are added to the total after each chunk, the others once
};

// What an evaluation leaves behind for one block; `entropy` is of the last `counted` queries.
struct Attended {
    float* logits;  // [sequence, query, token]
    float* map;     // [head, key, query], zero
    double *map_total, *entropy;
    int64_t counted;
};

struct Functions {
    double (*train)(const Model&, const Batch*, const Gradients*);
    void (*evaluate)(const Model&, const Batch*, const Attended*);
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

// Two vectors of four or of eight side by side, four lanes of a vector, and the lanes of fours or of one of sixteen.
#if defined(__clang__) || __GNUC__ >= 12
#define JOIN_FOURS(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define JOIN_EIGHTS(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define FOUR_OF(v, at) __builtin_shufflevector(v, v, (at), (at) + 1, (at) + 2, (at) + 3)
#define SHUFFLE_FOUR __builtin_shufflevector
#define SHUFFLE_SIXTEEN(v, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#else
#define JOIN_FOURS(a, b) (Eight{a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]})
#define JOIN_EIGHTS(a, b) \
    (Sixteen{a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]})
#define FOUR_OF(v, at) (Four{v[at], v[(at) + 1], v[(at) + 2], v[(at) + 3]})
#define SHUFFLE_FOUR(a, b, ...) __builtin_shuffle(a, b, FourInts{__VA_ARGS__})
#define SHUFFLE_SIXTEEN(v, ...) __builtin_shuffle(v, SixteenInts{__VA_ARGS__})
#endif

