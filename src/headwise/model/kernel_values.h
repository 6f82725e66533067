// Values of one sequence: from their table, mixed by the weights, and back.

INLINE long value_row(const Block& m, int head, long row) { return (head * m.rows + row) * (long)m.value_pitch; }
INLINE int groups_of_eight(int columns) { return (columns + 7) / 8 * 8; }
INLINE int columns_from(const Block& m, int from) {
    return m.value_columns - from < COLUMNS ? m.value_columns - from : COLUMNS;
}
// Where a head's columns begin among the mixed ones.
INLINE int own_columns(const Block& m, int head) { return m.output_t ? head * m.value_columns : 0; }

// Heads whose values of one block of columns fit the first-level cache together.
struct Heads {
    int first, last;
};
INLINE int heads_at_a_time(const Block& m) {
    const int fit = VALUE_BYTES / (m.keys_pitch * COLUMNS * 4);
    return fit < 1 ? 1 : fit < m.heads ? fit : m.heads;
}

// One block of columns of the values of some heads, scaled: [head, key, COLUMNS].
static void gather_values(const Block& m, const int64_t* tokens, Heads heads, int from, int columns, float* values) {
    const Floats scale = splat<Floats>(m.drops[ATTENTION].scale);
    for (int h = heads.first; h < heads.last; h++)
        for (int j = 0; j < m.positions; j++) {
            const float* by_token = m.value + value_row(m, h, tokens[j]) + from;
            const float* by_position = m.value + value_row(m, h, m.token_rows + j) + from;
            float* out = values + ((long)(h - heads.first) * m.keys_pitch + j) * COLUMNS;
            int c = 0;
            for (; c + LANES <= columns; c += LANES)
                store(out + c, (load<Floats>(by_token + c) + load<Floats>(by_position + c)) * scale);
            if (c < columns)
                store(out + c, (load<Eight>(by_token + c) + load<Eight>(by_position + c)) * first_eight(scale));
        }
}

constexpr int QUERY_ROWS = 4;  // queries of a register block: few, so that few of their keys lie ahead

// out[query, columns] (+)= the sum over heads and keys of weight * value. The values of a head are [key, COLUMNS], those
// of the next lie `next_head` further on.
struct Mixing {
    Heads heads;
    const float *weights, *values;
    long next_head;
    int columns;
    Mode mode;
    float* out;
};

static void mix_values(const Block& m, const Mixing& mix) {
    const int blocks = (m.queries + QUERY_ROWS - 1) / QUERY_ROWS;
    for (int b = 0; b < blocks; b++) {
        const int q0 = m.queries * b / blocks, q1 = m.queries * (b + 1) / blocks;
        const int j0 = first_key(m, q0), j1 = last_key(m, q1 - 1);
        Product p;
        p.a = mix.weights + weights_from(m, mix.heads.first, j0) + q0 * next_query(m);
        p.a_head = in_quads(m) ? 1 : weight_at(m, 1, 0), p.a_k = m.queries_pitch * next_query(m), p.a_m = next_query(m);
        p.b = mix.values + (long)j0 * COLUMNS;
        p.b_head = mix.next_head, p.b_k = COLUMNS;
        p.c = mix.out + (long)q0 * m.mixed_pitch, p.c_m = m.mixed_pitch;
        p.heads = mix.heads.last - mix.heads.first, p.depth = j1 - j0, p.add = mix.mode == ADD;
        product(p, q1 - q0, mix.columns);
    }
}

// For some keys of one head, the sum over queries of weight * gradient, as a product whose result goes nowhere yet.
INLINE Product over_queries(const Block& m, const float* weights, const float* grads, int head, int first, int last) {
    const int q0 = first_query(m, first), q1 = last_query(m, last - 1);
    Product p;
    p.a = weights + weights_from(m, head, first) + q0 * next_query(m);
    p.a_head = 0, p.a_k = next_query(m), p.a_m = m.queries_pitch * next_query(m);
    p.b = grads + (long)q0 * m.mixed_pitch, p.b_head = 0, p.b_k = m.mixed_pitch;
    p.c = nullptr, p.c_m = 0;
    p.heads = 1, p.depth = q1 - q0, p.add = false;
    return p;
}

// Keys in register blocks of nearly equal size.
struct KeyBlocks {
    int count, size, larger;
    explicit KeyBlocks(const Block& m, int most = 6) : count((m.positions + most - 1) / most) {
        size = m.positions / count, larger = m.positions % count;
    }
    int first(int block) const { return block * size + (block < larger ? block : larger); }
};

// values[key, columns] = the gradient of a head's values, for one block of columns.
static void value_gradients(const Block& m, int head, const float* weights, const float* grads, int columns,
                            float* values) {
    const KeyBlocks blocks(m);
    for (int b = 0; b < blocks.count; b++) {
        const int j0 = blocks.first(b), j1 = blocks.first(b + 1);
        Product p = over_queries(m, weights, grads, head, j0, j1);
        p.c = values + (long)j0 * COLUMNS, p.c_m = COLUMNS;
        product(p, j1 - j0, columns);
    }
}

// For some keys of one head and some columns: weight * gradient summed over queries, for each of `count` sequences added
// to the row of its token, for all of them to the rows of the positions, which lie below each other.
struct ValueSums {
    const float* weights;  // of the first key and query,
    long next_key, next_query, next_weights;
    const float* grads;    // of that query,
    long grads_pitch, next_grads;
    const int64_t* tokens;  // of that key; those of the next sequence lie `next_tokens` further on
    long next_tokens;
    float *by_token, *by_position;
    long pitch;
    int queries, count;
    float scale;
};

// M keys, V vectors and T groups of eight wide. Both sums stay in registers.
template <int M, int V, int T>
static void value_sums_block(const ValueSums& s) {
    Floats all[M][V + 1] = {};
    Eight all_rest[M] = {};
    for (int n = 0; n < s.count; n++) {
        Floats acc[M][V + 1] = {};
        Eight rest[M] = {};
        const float *a = s.weights + n * s.next_weights, *b = s.grads + n * s.next_grads;
        for (int q = 0; q < s.queries; q++, a += s.next_query, b += s.grads_pitch) {
            Floats row[V + 1];
            Eight row_rest = {};
            UNROLL
            for (int v = 0; v < V; v++) row[v] = load<Floats>(b + v * LANES);
            if (T) row_rest = load<Eight>(b + V * LANES);
            UNROLL
            for (int m = 0; m < M; m++) {
                const Floats x = splat<Floats>(a[m * s.next_key]);
                UNROLL
                for (int v = 0; v < V; v++) acc[m][v] += x * row[v];
                if (T) rest[m] += first_eight(x) * row_rest;
            }
        }
        UNROLL
        for (int m = 0; m < M; m++) {
            float* to = s.by_token + s.tokens[n * s.next_tokens + m] * s.pitch;
            UNROLL
            for (int v = 0; v < V; v++) {
                add_to(to + v * LANES, acc[m][v] * s.scale);
                all[m][v] += acc[m][v];
            }
            if (T) add_to(to + V * LANES, rest[m] * s.scale);
            if (T) all_rest[m] += rest[m];
        }
    }
    UNROLL
    for (int m = 0; m < M; m++) {
        float* to = s.by_position + m * s.pitch;
        UNROLL
        for (int v = 0; v < V; v++) add_to(to + v * LANES, all[m][v] * s.scale);
        if (T) add_to(to + V * LANES, all_rest[m] * s.scale);
    }
}

// As many keys as leave both sums of a block in the registers. Few have the advantage that few queries lie before a key.
constexpr int keys_of_sums(int vectors) { return vectors * (2 * 6 + 1) < (LANES == 16 ? 32 : 16) ? 6 : 3; }

template <int V, int T>
static void value_sums_keys(const ValueSums& s, int keys) {
    if constexpr (keys_of_sums(V + T) > 3) switch (keys) {
            case 4: return value_sums_block<4, V, T>(s);
            case 5: return value_sums_block<5, V, T>(s);
            case 6: return value_sums_block<6, V, T>(s);
        }
    switch (keys) {
        case 1: return value_sums_block<1, V, T>(s);
        case 2: return value_sums_block<2, V, T>(s);
        default: return value_sums_block<3, V, T>(s);
    }
}

// Columns that are summed at a time where `left` are left, in whole groups of eight.
INLINE int columns_of_sums(int left) {
    if (left >= WIDE * LANES) return WIDE * LANES;
    return LANES == 16 || left < LANES ? left : LANES;
}

static void value_sums(const ValueSums& s, int keys, int columns) {
    if (columns == WIDE * LANES) return value_sums_keys<WIDE, 0>(s, keys);
    if constexpr (LANES == 16) switch (columns / 8) {
            case 1: return value_sums_keys<0, 1>(s, keys);
            case 2: return value_sums_keys<1, 0>(s, keys);
            case 3: return value_sums_keys<1, 1>(s, keys);
            case 4: return value_sums_keys<2, 0>(s, keys);
            case 5: return value_sums_keys<2, 1>(s, keys);
            case 6: return value_sums_keys<3, 0>(s, keys);
            default: return value_sums_keys<3, 1>(s, keys);
        }
    return value_sums_keys<1, 0>(s, keys);
}

// The gradients of the values of `count` sequences, added to the rows of the table's gradient. Only as many sequences at
// a time as leave one block of columns of their gradients in the first-level cache, where every block of keys reads them.
static void scatter_value_gradients(const Block& m, const int64_t* tokens, int count, const float* weights,
                                    const float* grads, float* table) {
    const int columns = groups_of_eight(m.value_columns), fit = VALUE_BYTES / (4 * m.queries * COLUMNS);
    const int together = fit < 1 ? 1 : fit < count ? fit : count;
    ValueSums s;
    s.next_weights = weights_size(m), s.next_grads = (long)m.queries * m.mixed_pitch, s.next_tokens = m.positions;
    s.pitch = m.value_pitch, s.scale = m.drops[ATTENTION].scale;
    for (int n = 0; n < count; n += together)
        for (int from = 0, width; from < columns; from += width) {
            width = columns_of_sums(columns - from);
            const KeyBlocks blocks(m, keys_of_sums((width + LANES - 1) / LANES));
            for (int h = 0; h < m.heads; h++)
                for (int b = 0; b < blocks.count; b++) {
                    const int j0 = blocks.first(b), j1 = blocks.first(b + 1);
                    const Product p = over_queries(m, weights + n * s.next_weights,
                                                   grads + n * s.next_grads + own_columns(m, h) + from, h, j0, j1);
                    s.weights = p.a, s.next_key = p.a_m, s.next_query = p.a_k, s.queries = p.depth;
                    s.grads = p.b, s.grads_pitch = p.b_k;
                    s.tokens = tokens + n * s.next_tokens + j0, s.count = count - n < together ? count - n : together;
                    s.by_token = table + value_row(m, h, 0) + from;
                    s.by_position = table + value_row(m, h, m.token_rows + j0) + from;
                    value_sums(s, j1 - j0, width);
                }
        }
}

// out[key, query] (+)= the sum over columns of rows[key, column] * across[column, query], for some keys and queries of one
// head; `across` and `out` have the pitch of queries.
struct Dots {
    Rows rows;
    const float* across;
    int columns;
    Mode mode;
    float* out;
};

// K keys and G groups of eight queries, all of it in registers.
template <int K, int G>
static void dot_block(const Dots& d, long pitch) {
    Eight acc[K][G];
    UNROLL
    for (int j = 0; j < K; j++)
        UNROLL
        for (int g = 0; g < G; g++) acc[j][g] = d.mode == ADD ? load<Eight>(d.out + j * pitch + g * 8) : Eight{};
    const float *rows = d.rows.data, *across = d.across;
    const long rows_pitch = d.rows.pitch;
    for (int c = 0; c < d.columns; c++) {
        Eight row[G];
        UNROLL
        for (int g = 0; g < G; g++) row[g] = load<Eight>(across + c * pitch + g * 8);
        UNROLL
        for (int j = 0; j < K; j++) {
            const Eight x = splat<Eight>(rows[j * rows_pitch + c]);
            UNROLL
            for (int g = 0; g < G; g++) acc[j][g] += x * row[g];
        }
    }
    UNROLL
    for (int j = 0; j < K; j++)
        UNROLL
        for (int g = 0; g < G; g++) store(d.out + j * pitch + g * 8, acc[j][g]);
}

template <int G>
static void dot_groups(int keys, const Dots& d, long pitch) {
    if constexpr (KEYS > 4) switch (keys) {
            case 5: return dot_block<5, G>(d, pitch);
            case 6: return dot_block<6, G>(d, pitch);
            case 7: return dot_block<7, G>(d, pitch);
            case 8: return dot_block<8, G>(d, pitch);
        }
    switch (keys) {
        case 1: return dot_block<1, G>(d, pitch);
        case 2: return dot_block<2, G>(d, pitch);
        case 3: return dot_block<3, G>(d, pitch);
        default: return dot_block<4, G>(d, pitch);
    }
}

INLINE int groups_of_queries(const Block& m, int j) {
    const int queries = last_query(m, j) - first_query(m, j);
    return queries > 0 ? (queries + 7) / 8 : 0;
}

// The products of all keys of one head with the queries that see them; groups of eight begin wherever a key's queries
// do. What is left beside them belongs to weights that are zero.
static void dot_keys(const Block& m, const Dots& all) {
    const int pitch = m.queries_pitch;
    for (int j = 0; j < m.positions;) {
        const int groups = groups_of_queries(m, j);
        const int first = first_query(m, j) + 8 * groups <= pitch ? first_query(m, j) : pitch - 8 * groups;
        int run = 1;  // keys with the same groups, in blocks of equal size
        while (j + run < m.positions && groups_of_queries(m, j + run) == groups &&
               last_query(m, j + run) <= first + 8 * groups)
            run++;
        const int blocks = (run + KEYS - 1) / KEYS, keys = run / blocks;
        Dots d = all;
        d.rows.data += j * all.rows.pitch, d.across += first, d.out += (long)j * pitch + first;
        int left = groups;
        for (; left >= 3; left -= 3, d.across += 24, d.out += 24) dot_groups<3>(keys, d, pitch);
        if (left == 2) dot_groups<2>(keys, d, pitch);
        if (left == 1) dot_groups<1>(keys, d, pitch);
        j += keys;
    }
}

// Eight rows of eight become eight columns, in three rounds of exchanges.
INLINE void transpose_eight(const float* from, long pitch, float* out, long out_pitch) {
    Eight a[8], b[8];
    UNROLL
    for (int i = 0; i < 8; i++) a[i] = load<Eight>(from + i * pitch);
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        b[i] = SHUFFLE_EIGHT(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[i + 1] = SHUFFLE_EIGHT(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    UNROLL
    for (int i = 0; i < 8; i += 4)
        UNROLL
        for (int k = 0; k < 2; k++) {
            a[i + k] = SHUFFLE_EIGHT(b[i + k], b[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[i + k + 2] = SHUFFLE_EIGHT(b[i + k], b[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    UNROLL
    for (int i = 0; i < 4; i++) {
        store(out + i * out_pitch, SHUFFLE_EIGHT(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11));
        store(out + (i + 4) * out_pitch, SHUFFLE_EIGHT(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15));
    }
}

// out[column, row] = from[row, column]. Rows of `out` are padded to whole groups of eight.
static void transpose(const float* from, long pitch, int rows, int columns, long out_pitch, float* out) {
    int c = 0;
    for (; c + 8 <= columns; c += 8) {
        int q = 0;
        for (; q + 8 <= rows; q += 8) transpose_eight(from + q * pitch + c, pitch, out + c * out_pitch + q, out_pitch);
        if (q < rows) {
            float corner[64] = {};
            for (int i = 0; i < rows - q; i++) store(corner + i * 8, load<Eight>(from + (q + i) * pitch + c));
            transpose_eight(corner, 8, out + c * out_pitch + q, out_pitch);
        }
    }
    for (; c < columns; c++)
        for (int q = 0; q < rows; q++) out[c * out_pitch + q] = from[q * pitch + c];
}
