// The arithmetic of the kernel, written once for vectors of LANES floats and compiled once per instruction set:
// kernel.cpp includes this file inside one namespace each. See kernel.cpp for the layouts.

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint64_t Words __attribute__((vector_size(4 * LANES)));
typedef uint16_t Lanes16 __attribute__((vector_size(4 * LANES)));
typedef int16_t Halves __attribute__((vector_size(2 * LANES)));
// Queries of a sequence lie side by side in groups of eight whatever the instruction set: twenty queries fill
// three groups of eight better than two of sixteen.
typedef float Queries __attribute__((vector_size(4 * QUERY_LANES)));
typedef int32_t QueryInts __attribute__((vector_size(4 * QUERY_LANES)));

template <class V>
INLINE V load(const void* from) {
    V v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
}

template <class V>
INLINE void store(void* to, V v) {
    __builtin_memcpy(to, &v, sizeof v);
}

INLINE Floats splat(float x) { return x - Floats{}; }
INLINE float total(Floats v) {
    float lanes[LANES], sum = 0;
    store(lanes, v);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
    return sum + lanes[0];
}

// Ones in the lanes below `count`, for the last vector of a row.
INLINE Ints first_lanes(int count) {
    int32_t lanes[LANES];
    for (int i = 0; i < LANES; i++) lanes[i] = i < count ? -1 : 0;
    return load<Ints>(lanes);
}

INLINE Floats masked(Floats v, Ints mask) { return (Floats)((Ints)v & mask); }

// exp to about one unit in the last place. NaN stays NaN; below the smallest normal number the result is zero.
template <class V, class I>
INLINE V exponential(V x) {
    const V shift = 12582912.0f - V{};  // 1.5 * 2^23: adding it rounds to an integer in the low bits
    V clamped = x < -87.0f ? (-87.0f - V{}) : x;
    clamped = clamped > 88.0f ? (88.0f - V{}) : clamped;
    V biased = clamped * 1.44269504088896341f + shift;
    V whole = biased - shift;
    V r = clamped - whole * 0.693359375f;
    r = r - whole * -2.12194440e-4f;
    V p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    // The low bits of `biased` hold the exponent; multiplying rather than adding bits keeps a NaN a NaN.
    I bits = ((I)biased + 127) << 23;
    V result = p * (V)bits;
    return x < -87.0f ? V{} : result;
}

INLINE Words scrambled(Words z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// One 16-bit lane per element, all ones where kept: the masks of dropout.py, bit for bit.
// Writes whole vectors: `keep` must have room for `count` rounded up to 2 * LANES.
static void draw_keep(uint64_t key, int count, uint32_t threshold, uint16_t* keep) {
    constexpr int per = LANES / 2;
    Words counter;
    for (int i = 0; i < per; i++) counter[i] = GOLDEN * (uint64_t)(i + 1) + key;
    const Lanes16 limit = (uint16_t)threshold - Lanes16{};
    for (int e = 0; e < count; e += 4 * per) {
        Lanes16 lanes = (Lanes16)scrambled(counter);
        store(keep + e, (Lanes16)(lanes >= limit));
        counter += GOLDEN * (uint64_t)per;
    }
}

INLINE Ints widen(const uint16_t* keep) { return __builtin_convertvector(load<Halves>(keep), Ints); }

// C[m, :] = sum over heads and k of A[head, k, m] * B[head, k, :], V vectors wide, M rows high, in registers.
struct Product {
    const float* a;
    long a_head, a_k, a_m;
    const float* b;
    long b_head, b_k;
    float* c;
    long c_m;
    int heads, depth;
};

template <int M, int V>
static void product_block(const Product& p) {
    Floats acc[M][V] = {};
    for (int h = 0; h < p.heads; h++) {
        const float* a = p.a + h * p.a_head;
        const float* b = p.b + h * p.b_head;
        for (int k = 0; k < p.depth; k++) {
            Floats row[V];
#pragma GCC unroll 8
            for (int v = 0; v < V; v++) row[v] = load<Floats>(b + v * LANES);
#pragma GCC unroll 8
            for (int m = 0; m < M; m++) {
                const Floats x = splat(a[m * p.a_m]);
#pragma GCC unroll 8
                for (int v = 0; v < V; v++) acc[m][v] += x * row[v];
            }
            a += p.a_k;
            b += p.b_k;
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; m++)
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) store(p.c + m * p.c_m + v * LANES, acc[m][v]);
}

template <int V>
static void product_rows(const Product& p, int rows) {
    switch (rows) {
        case 1: return product_block<1, V>(p);
        case 2: return product_block<2, V>(p);
        case 3: return product_block<3, V>(p);
        case 4: return product_block<4, V>(p);
        case 5: return product_block<5, V>(p);
        default: return product_block<6, V>(p);
    }
}

constexpr int ROWS = 6;  // rows of a register block

// All columns of a column block, which hold a multiple of 16 floats.
static void product(Product p, int rows, int columns) {
    constexpr int step = WIDE * LANES;
    int c = 0;
    for (; c + step <= columns; c += step) {
        product_rows<WIDE>(p, rows);
        p.b += step;
        p.c += step;
    }
    for (; c < columns; c += LANES) {
        product_rows<1>(p, rows);
        p.b += LANES;
        p.c += LANES;
    }
}

// out[key, queries] += sum over columns of values[key, column] * grads[column, queries], for KEYS keys.
template <int G>
static void dot_block(const float* values, const float* grads, long pitch, int columns, float* out, bool fresh) {
    Queries acc[KEYS][G];
#pragma GCC unroll 8
    for (int j = 0; j < KEYS; j++)
#pragma GCC unroll 4
        for (int g = 0; g < G; g++)
            acc[j][g] = fresh ? Queries{} : load<Queries>(out + j * pitch + g * QUERY_LANES);
    for (int c = 0; c < columns; c++) {
        Queries row[G];
#pragma GCC unroll 4
        for (int g = 0; g < G; g++) row[g] = load<Queries>(grads + c * pitch + g * QUERY_LANES);
#pragma GCC unroll 8
        for (int j = 0; j < KEYS; j++) {
            const Queries x = values[j * COLUMNS + c] - Queries{};
#pragma GCC unroll 4
            for (int g = 0; g < G; g++) acc[j][g] += x * row[g];
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < KEYS; j++)
#pragma GCC unroll 4
        for (int g = 0; g < G; g++) store(out + j * pitch + g * QUERY_LANES, acc[j][g]);
}

static void dot_groups(const float* values, const float* grads, long pitch, int columns, float* out, bool fresh,
                       int groups) {
    for (; groups >= 3; groups -= 3, grads += 3 * QUERY_LANES, out += 3 * QUERY_LANES)
        dot_block<3>(values, grads, pitch, columns, out, fresh);
    if (groups == 2) dot_block<2>(values, grads, pitch, columns, out, fresh);
    if (groups == 1) dot_block<1>(values, grads, pitch, columns, out, fresh);
}

// Queries that see key j: [first, last).
INLINE int first_query(const Shape& s, int j) {
    int q = j - (s.positions - s.queries);
    return q > 0 ? q : 0;
}
INLINE int last_query(const Shape& s, int j) {
    int q = j + s.context - (s.positions - s.queries);
    return q < 0 ? 0 : q < s.queries ? q : s.queries;
}
// Keys that a range of queries sees: [first, last).
INLINE int first_key(const Shape& s, int q) {
    int j = s.positions - s.queries + q - s.context + 1;
    return j > 0 ? j : 0;
}
INLINE int last_key(const Shape& s, int q) { return s.positions - s.queries + q + 1; }

// Attention logits, [head, key, query]: the sum of four table entries; minus infinity where hidden.
static void gather_scores(const Shape& s, const int64_t* tokens, const float* table, float* row, float* scores) {
    const int start = s.positions - s.queries;
    for (int h = 0; h < s.heads; h++)
        for (int j = 0; j < s.positions; j++) {
            const float* by_token = table + ((long)h * s.rows + tokens[j]) * s.rows_pitch;
            const float* by_position = table + ((long)h * s.rows + s.dictionary + j) * s.rows_pitch;
            for (int r = 0; r < s.rows_pitch; r += LANES)
                store(row + r, load<Floats>(by_token + r) + load<Floats>(by_position + r));
            float* out = scores + ((long)h * s.keys_pitch + j) * s.queries_pitch;
            const float* position = row + s.dictionary + start;
            const int first = first_query(s, j), last = last_query(s, j);
            for (int q = 0; q < first; q++) out[q] = -INFINITY;
            for (int q = first; q < last; q++) out[q] = row[tokens[start + q]] + position[q];
            for (int q = last; q < s.queries; q++) out[q] = -INFINITY;
            for (int q = s.queries; q < s.queries_pitch; q++) out[q] = 0;
        }
}

// Softmax over keys, in place. Adds the entropy of every row to `entropy[head]` when asked.
static void softmax_keys(const Shape& s, float* scores, double* entropy) {
    for (int h = 0; h < s.heads; h++)
        for (int g = 0; g < s.queries_pitch; g += QUERY_LANES) {
            float* column = scores + (long)h * s.keys_pitch * s.queries_pitch + g;
            const int end = g + QUERY_LANES < s.queries ? last_key(s, g + QUERY_LANES - 1) : s.positions;
            const int begin = first_key(s, g);
            Queries top = load<Queries>(column + (long)begin * s.queries_pitch);
            for (int j = begin + 1; j < end; j++) {
                const Queries x = load<Queries>(column + (long)j * s.queries_pitch);
                top = x > top ? x : top;
            }
            Queries sum = {}, weighted = {};
            for (int j = begin; j < end; j++) {
                float* at = column + (long)j * s.queries_pitch;
                const Queries x = load<Queries>(at) - top;
                const Queries e = exponential<Queries, QueryInts>(x);
                sum += e;
                if (entropy) weighted += x < -87.0f ? Queries{} : e * x;
                store(at, e);
            }
            const Queries inverse = 1.0f / sum;
            for (int j = 0; j < s.positions; j++) {
                float* at = column + (long)j * s.queries_pitch;
                store(at, j >= begin && j < end ? load<Queries>(at) * inverse : Queries{});
            }
            if (entropy)
                for (int q = 0; q < QUERY_LANES && g + q < s.queries; q++)
                    entropy[h] += std::log((double)sum[q]) - (double)weighted[q] / (double)sum[q];
        }
}

// A dropped weight is remembered by its sign: weights are never negative.
static void drop_attention(const Shape& s, const uint16_t* keep, float* weights) {
    for (int h = 0; h < s.heads; h++)
        for (int j = 0; j < s.positions; j++) {
            float* out = weights + ((long)h * s.keys_pitch + j) * s.queries_pitch;
            const uint16_t* bits = keep + (long)h * s.queries * s.positions + j;
            for (int q = first_query(s, j); q < last_query(s, j); q++)
                if (!bits[(long)q * s.positions]) out[q] = -out[q];
        }
}

static void keep_positive(const float* from, long count, float* to) {
    for (long i = 0; i < count; i += QUERY_LANES) {
        const Queries x = load<Queries>(from + i);
        store(to + i, x < 0.0f ? Queries{} : x);
    }
}

// One block of columns of every key's value, scaled: [head, key, COLUMNS].
static void gather_values(const Shape& s, const int64_t* tokens, const float* table, int from, int columns,
                          float scale, float* values) {
    const Floats factor = splat(scale);
    for (int h = 0; h < s.heads; h++)
        for (int j = 0; j < s.positions; j++) {
            const float* by_token = table + ((long)h * s.rows + tokens[j]) * s.writes_pitch + from;
            const float* by_position = table + ((long)h * s.rows + s.dictionary + j) * s.writes_pitch + from;
            float* out = values + ((long)h * s.keys_pitch + j) * COLUMNS;
            for (int c = 0; c < columns; c += LANES)
                store(out + c, (load<Floats>(by_token + c) + load<Floats>(by_position + c)) * factor);
        }
}

static void mix_values(const Shape& s, const float* weights, const float* values, int columns, float* out) {
    const int blocks = (s.queries + ROWS - 1) / ROWS;
    for (int b = 0; b < blocks; b++) {
        const int q0 = s.queries * b / blocks, q1 = s.queries * (b + 1) / blocks;
        const int j0 = first_key(s, q0), j1 = last_key(s, q1 - 1);
        Product p;
        p.a = weights + (long)j0 * s.queries_pitch + q0;
        p.a_head = (long)s.keys_pitch * s.queries_pitch, p.a_k = s.queries_pitch, p.a_m = 1;
        p.b = values + (long)j0 * COLUMNS;
        p.b_head = (long)s.keys_pitch * COLUMNS, p.b_k = COLUMNS;
        p.c = out + (long)q0 * s.writes_pitch, p.c_m = s.writes_pitch;
        p.heads = s.heads, p.depth = j1 - j0;
        product(p, q1 - q0, columns);
    }
}

static void attention_forward(const Shape& s, const AttentionForward& io) {
    const long weights_size = (long)s.heads * s.keys_pitch * s.queries_pitch;
    Scratch<float> row(s.rows_pitch), used(weights_size), values((long)s.heads * s.keys_pitch * COLUMNS);
    Scratch<uint16_t> keep((long)s.heads * s.queries * s.positions + 64);
    for (int n = 0; n < s.sequences; n++) {
        const int64_t* tokens = io.tokens + (long)n * s.positions;
        float* weights = io.weights + n * weights_size;
        gather_scores(s, tokens, io.score, row.data, weights);
        softmax_keys(s, weights, io.entropy);
        if (io.map)
            for (long i = 0; i < weights_size; i += QUERY_LANES)
                store(io.map + i, load<Queries>(io.map + i) + load<Queries>(weights + i));
        const float* mixing = weights;
        if (s.drop.threshold) {
            draw_keep(io.keys[n], s.heads * s.queries * s.positions, s.drop.threshold, keep.data);
            drop_attention(s, keep.data, weights);
            keep_positive(weights, weights_size, used.data);
            mixing = used.data;
        }
        float* out = io.out + (long)n * s.queries * s.writes_pitch;
        for (int from = 0; from < s.writes_pitch; from += COLUMNS) {
            const int columns = s.writes_pitch - from < COLUMNS ? s.writes_pitch - from : COLUMNS;
            gather_values(s, tokens, io.value, from, columns, s.drop.scale, values.data);
            mix_values(s, mixing, values.data, columns, out + from);
        }
    }
}

static void scatter_values(const Shape& s, const int64_t* tokens, const float* grads, int from, int columns,
                           float* table) {
    const Floats factor = splat(s.drop.scale);
    for (int h = 0; h < s.heads; h++)
        for (int j = 0; j < s.positions; j++) {
            float* by_token = table + ((long)h * s.rows + tokens[j]) * s.writes_pitch + from;
            float* by_position = table + ((long)h * s.rows + s.dictionary + j) * s.writes_pitch + from;
            const float* grad = grads + ((long)h * s.keys_pitch + j) * COLUMNS;
            for (int c = 0; c < columns; c += LANES) {
                const Floats g = load<Floats>(grad + c) * factor;
                store(by_token + c, load<Floats>(by_token + c) + g);
                store(by_position + c, load<Floats>(by_position + c) + g);
            }
        }
}

static void value_gradients(const Shape& s, const float* weights, const float* grads, int columns, float* out) {
    for (int h = 0; h < s.heads; h++)
        for (int j0 = 0; j0 < s.positions; j0 += ROWS) {
            const int j1 = j0 + ROWS < s.positions ? j0 + ROWS : s.positions;
            const int q0 = first_query(s, j0), q1 = last_query(s, j1 - 1);
            Product p;
            p.a = weights + ((long)h * s.keys_pitch + j0) * s.queries_pitch + q0;
            p.a_head = 0, p.a_k = 1, p.a_m = s.queries_pitch;
            p.b = grads + (long)q0 * s.writes_pitch, p.b_head = 0, p.b_k = s.writes_pitch;
            p.c = out + ((long)h * s.keys_pitch + j0) * COLUMNS, p.c_m = COLUMNS;
            p.heads = 1, p.depth = q1 > q0 ? q1 - q0 : 0;
            product(p, j1 - j0, columns);
        }
}

static void transpose(const float* grads, long pitch, int rows, int columns, long out_pitch, float* out) {
    for (int c = 0; c < columns; c++)
        for (int q = 0; q < rows; q++) out[c * out_pitch + q] = grads[q * pitch + c];
}

static void weight_gradients(const Shape& s, const float* values, const float* grads, int columns, bool fresh,
                             float* out) {
    for (int h = 0; h < s.heads; h++)
        for (int j = 0; j < s.keys_pitch; j += KEYS) {
            if (j >= s.positions) break;
            const int last = j + KEYS < s.positions ? j + KEYS - 1 : s.positions - 1;
            const int g0 = first_query(s, j) / QUERY_LANES;
            const int g1 = (last_query(s, last) + QUERY_LANES - 1) / QUERY_LANES;
            const long at = (long)h * s.keys_pitch + j;
            dot_groups(values + at * COLUMNS, grads + g0 * QUERY_LANES, s.queries_pitch, columns,
                       out + at * s.queries_pitch + g0 * QUERY_LANES, fresh, g1 - g0);
        }
}

// From gradients of the mixed weights to gradients of the logits, in place. `weights` carries drops as signs.
static void softmax_gradients(const Shape& s, const float* weights, float* grads) {
    for (int h = 0; h < s.heads; h++)
        for (int g = 0; g < s.queries_pitch; g += QUERY_LANES) {
            const long base = (long)h * s.keys_pitch * s.queries_pitch + g;
            const int end = g + QUERY_LANES < s.queries ? last_key(s, g + QUERY_LANES - 1) : s.positions;
            const int begin = first_key(s, g);
            Queries mean = {};
            for (int j = begin; j < end; j++) {
                const Queries a = load<Queries>(weights + base + (long)j * s.queries_pitch);
                const Queries kept = a < 0.0f ? Queries{} : a;
                mean += kept * load<Queries>(grads + base + (long)j * s.queries_pitch);
            }
            for (int j = begin; j < end; j++) {
                const Queries a = load<Queries>(weights + base + (long)j * s.queries_pitch);
                const Queries d = load<Queries>(grads + base + (long)j * s.queries_pitch);
                const Queries through = a < 0.0f ? Queries{} : d;
                const Queries size = a < 0.0f ? -a : a;
                store(grads + base + (long)j * s.queries_pitch, size * (through - mean));
            }
        }
}

static void scatter_scores(const Shape& s, const int64_t* tokens, const float* grads, float* row, float* table) {
    const int start = s.positions - s.queries;
    for (int h = 0; h < s.heads; h++)
        for (int j = 0; j < s.positions; j++) {
            for (int r = 0; r < s.rows_pitch; r += LANES) store(row + r, Floats{});
            const float* grad = grads + ((long)h * s.keys_pitch + j) * s.queries_pitch;
            float* position = row + s.dictionary + start;
            for (int q = first_query(s, j); q < last_query(s, j); q++) {
                row[tokens[start + q]] += grad[q];
                position[q] = grad[q];
            }
            float* by_token = table + ((long)h * s.rows + tokens[j]) * s.rows_pitch;
            float* by_position = table + ((long)h * s.rows + s.dictionary + j) * s.rows_pitch;
            for (int r = 0; r < s.rows_pitch; r += LANES) {
                const Floats d = load<Floats>(row + r);
                store(by_token + r, load<Floats>(by_token + r) + d);
                store(by_position + r, load<Floats>(by_position + r) + d);
            }
        }
}

static void attention_backward(const Shape& s, const AttentionBackward& io) {
    const long weights_size = (long)s.heads * s.keys_pitch * s.queries_pitch;
    Scratch<float> row(s.rows_pitch), used(weights_size), slopes(weights_size);
    Scratch<float> values((long)s.heads * s.keys_pitch * COLUMNS), across((long)COLUMNS * s.queries_pitch);
    for (int n = 0; n < s.sequences; n++) {
        const int64_t* tokens = io.tokens + (long)n * s.positions;
        const float* weights = io.weights + n * weights_size;
        const float* grads = io.grads + (long)n * s.queries * s.writes_pitch;
        const float* mixing = weights;
        if (s.drop.threshold) {
            keep_positive(weights, weights_size, used.data);
            mixing = used.data;
        }
        for (int from = 0; from < s.writes_pitch; from += COLUMNS) {
            const int columns = s.writes_pitch - from < COLUMNS ? s.writes_pitch - from : COLUMNS;
            const int real = s.writes - from < columns ? s.writes - from : columns;
            gather_values(s, tokens, io.value, from, columns, s.drop.scale, values.data);
            transpose(grads + from, s.writes_pitch, s.queries, real, s.queries_pitch, across.data);
            weight_gradients(s, values.data, across.data, real, from == 0, slopes.data);
            value_gradients(s, mixing, grads + from, columns, values.data);
            scatter_values(s, tokens, values.data, from, columns, io.value_grad);
        }
        softmax_gradients(s, weights, slopes.data);
        scatter_scores(s, tokens, slopes.data, row.data, io.score_grad);
    }
}

// Mean cross-entropy and its gradient, in place; columns from `classes` to the pitch become zero.
static double cross_entropy(const CrossEntropy& io) {
    const Ints tail = first_lanes((io.classes - 1) % LANES + 1);
    const int last = (io.classes - 1) / LANES * LANES;
    double sum = 0;
    for (long n = 0; n < io.count; n++) {
        float* row = io.logits + n * io.pitch;
        const float at_target = row[io.targets[n]];
        float top = row[0];
        Floats tops = splat(top);
        for (int c = 0; c < last; c += LANES) {
            const Floats x = load<Floats>(row + c);
            tops = x > tops ? x : tops;
        }
        {
            const Floats x = load<Floats>(row + last);
            tops = (x > tops) & tail ? x : tops;
        }
        for (int i = 0; i < LANES; i++) top = tops[i] > top ? tops[i] : top;
        Floats sums = {};
        for (int c = 0; c <= last; c += LANES) {
            Floats e = exponential<Floats, Ints>(load<Floats>(row + c) - top);
            if (c == last) e = masked(e, tail);
            sums += e;
            store(row + c, e);
        }
        const float normaliser = total(sums);
        sum += std::log((double)normaliser) + (double)top - (double)at_target;
        const Floats factor = splat(io.weight / normaliser);
        for (int c = 0; c <= last; c += LANES) store(row + c, load<Floats>(row + c) * factor);
        for (int c = last + LANES; c < io.pitch; c += LANES) store(row + c, Floats{});
        row[io.targets[n]] -= io.weight;
        if (io.bias_grad)
            for (int c = 0; c <= last; c += LANES)
                store(io.bias_grad + c, load<Floats>(io.bias_grad + c) + load<Floats>(row + c));
    }
    return sum;
}

// What stands before a branch in the residual sum, at query q of sequence n, from column c on.
INLINE Floats carried(const Branch& io, const float* before, const float* by_token, const float* by_position, int c) {
    if (by_token) return load<Floats>(by_token + c) + load<Floats>(by_position + c);
    const Floats x = load<Floats>(before + c);
    return io.gain ? x * load<Floats>(io.gain + c) + load<Floats>(io.shift + c) : x;
}

// Row by row: normalised(carried + dropped(branch + offset)), each part where the model has it.
static void branch_forward(const Branch& io) {
    const int elements = io.queries * io.width;
    const Ints tail = first_lanes((io.width - 1) % LANES + 1);
    const int last = (io.width - 1) / LANES * LANES;
    const Floats scale = splat(io.drop.scale);
    Scratch<uint16_t> keep(elements + 2 * io.pitch + 64);
    for (int n = 0; n < io.sequences; n++) {
        if (io.drop.threshold) draw_keep(io.keys[n], elements, io.drop.threshold, keep.data);
        for (int q = 0; q < io.queries; q++) {
            const long at = (long)n * io.queries + q;
            const float* from = io.branch + at * io.pitch;
            float* out = io.out + at * io.pitch;
            const float* before = io.before ? io.before + at * io.pitch : nullptr;
            const float *by_token = nullptr, *by_position = nullptr;
            if (io.stream) {
                const int position = io.positions - io.queries + q;
                by_token = io.stream + io.tokens[(long)n * io.positions + position] * io.pitch;
                by_position = io.stream + (long)(io.dictionary + position) * io.pitch;
            }
            const uint16_t* bits = keep.data + (long)q * io.width;
            Floats sum = {};
            for (int c = 0; c < io.pitch; c += LANES) {
                Floats y = load<Floats>(from + c);
                if (io.offset) y += load<Floats>(io.offset + c);
                if (io.drop.threshold) y = masked(y * scale, widen(bits + c));
                if (before || by_token) y += carried(io, before, by_token, by_position, c);
                if (c == last) y = masked(y, tail);
                sum += y;
                store(out + c, y);
            }
            if (!io.inverse_deviation) continue;
            const float mean = total(sum) / (float)io.width;
            Floats squares = {};
            for (int c = 0; c <= last; c += LANES) {
                Floats y = load<Floats>(out + c) - mean;
                if (c == last) y = masked(y, tail);
                squares += y * y;
                store(out + c, y);
            }
            const float inverse = 1.0f / std::sqrt(total(squares) / (float)io.width + io.epsilon);
            for (int c = 0; c <= last; c += LANES) store(out + c, load<Floats>(out + c) * inverse);
            io.inverse_deviation[at] = inverse;
        }
    }
}

INLINE void add_to(float* sums, int c, Floats x) { store(sums + c, load<Floats>(sums + c) + x); }

// `grad`: with respect to the output, in; to the residual sum, out. `later` is the gradient of a residual sum further
// on, which took this output times gain plus shift. `branch_grad` receives the gradient of the branch itself.
static void branch_backward(const BranchGradients& io) {
    const Branch& b = io.forward;
    const int elements = b.queries * b.width;
    const Ints tail = first_lanes((b.width - 1) % LANES + 1);
    const int last = (b.width - 1) / LANES * LANES;
    const Floats scale = splat(b.drop.scale);
    Scratch<uint16_t> keep(elements + 2 * b.pitch + 64);
    for (int n = 0; n < b.sequences; n++) {
        if (b.drop.threshold) draw_keep(b.keys[n], elements, b.drop.threshold, keep.data);
        for (int q = 0; q < b.queries; q++) {
            const long at = (long)n * b.queries + q;
            float* grad = io.grad + at * b.pitch;
            const float* hat = b.out + at * b.pitch;
            const float* later = io.later ? io.later + at * b.pitch : nullptr;
            float* out = io.branch_grad + at * b.pitch;
            const uint16_t* bits = keep.data + (long)q * b.width;
            float *by_token = nullptr, *by_position = nullptr;
            if (io.stream_grad) {
                const int position = b.positions - b.queries + q;
                by_token = io.stream_grad + b.tokens[(long)n * b.positions + position] * b.pitch;
                by_position = io.stream_grad + (long)(b.dictionary + position) * b.pitch;
            }
            Floats sum = {}, along = {};
            if (later || b.inverse_deviation)
                for (int c = 0; c < b.pitch; c += LANES) {
                    Floats g = load<Floats>(grad + c);
                    const Floats x = load<Floats>(hat + c);
                    if (later) {
                        const Floats l = load<Floats>(later + c);
                        if (io.later_gain) {
                            add_to(io.gain_grad, c, l * x);
                            add_to(io.shift_grad, c, l);
                            g += l * load<Floats>(io.later_gain + c);
                        } else {
                            g += l;
                        }
                    }
                    sum += g;
                    along += g * x;
                    store(grad + c, g);
                }
            float mean = 0, slope = 0, inverse = 1;
            if (b.inverse_deviation) {
                mean = total(sum) / (float)b.width;
                slope = total(along) / (float)b.width;
                inverse = b.inverse_deviation[at];
            }
            for (int c = 0; c < b.pitch; c += LANES) {
                Floats g = load<Floats>(grad + c);
                if (b.inverse_deviation) g = (g - mean - load<Floats>(hat + c) * slope) * inverse;
                if (c == last) g = masked(g, tail);
                if (c > last) g = Floats{};
                store(grad + c, g);
                if (by_token) {
                    add_to(by_token, c, g);
                    add_to(by_position, c, g);
                }
                if (b.drop.threshold) g = masked(g * scale, widen(bits + c));
                if (io.offset_grad) add_to(io.offset_grad, c, g);
                store(out + c, g);
            }
        }
    }
}

// The hidden units, in place: ReLU, then dropout. Kept units that are on stay positive, all others become zero.
static void relu_forward(const Hidden& io) {
    const int elements = io.queries * io.width;
    const Floats scale = splat(io.drop.scale);
    Scratch<uint16_t> keep(elements + 2 * io.pitch + 64);
    for (int n = 0; n < io.sequences; n++) {
        if (io.drop.threshold) draw_keep(io.keys[n], elements, io.drop.threshold, keep.data);
        for (int q = 0; q < io.queries; q++) {
            float* row = io.hidden + ((long)n * io.queries + q) * io.pitch;
            const uint16_t* bits = keep.data + (long)q * io.width;
            for (int c = 0; c < io.pitch; c += LANES) {
                Floats x = load<Floats>(row + c);
                x = x <= 0.0f ? Floats{} : x;
                if (io.drop.threshold) x = masked(x * scale, widen(bits + c));
                store(row + c, x);
            }
        }
    }
}

static void relu_backward(const Hidden& io) {
    const Floats scale = splat(io.drop.scale);
    for (long at = 0; at < (long)io.sequences * io.queries; at++) {
        const float* row = io.hidden + at * io.pitch;
        float* grad = io.grad + at * io.pitch;
        for (int c = 0; c < io.pitch; c += LANES) {
            const Floats x = load<Floats>(row + c);
            const Floats g = x == 0.0f ? Floats{} : load<Floats>(grad + c) * scale;
            store(grad + c, g);
            add_to(io.bias_grad, c, g);
        }
    }
}

// Move a chunk's sums into double precision, and start the next chunk from zero.
static void drain(float* part, double* sum, long count) {
    for (long i = 0; i < count; i++) {
        sum[i] += (double)part[i];
        part[i] = 0;
    }
}

static void keep_masks(uint64_t key, int count, uint32_t threshold, uint16_t* keep) {
    draw_keep(key, count, threshold, keep);
}

static const Functions functions = {attention_forward, attention_backward, cross_entropy, branch_forward,
                                    branch_backward,   relu_forward,       relu_backward, drain,
                                    keep_masks};
