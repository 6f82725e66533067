// Attention weights of one sequence: logits from a table, softmax, dropout, and back. Weights are [head, key, query]:
// queries lie side by side, so that softmax runs down the keys without sums across lanes. See kernel_quads.h for the
// other way in which they lie.

// Queries that see key j: [first, last).
INLINE int first_query(const Block& m, int j) {
    const int q = j - (m.positions - m.queries);
    return q > 0 ? q : 0;
}
INLINE int last_query(const Block& m, int j) {
    const int q = j + m.context - (m.positions - m.queries);
    return q < 0 ? 0 : q < m.queries ? q : m.queries;
}
// Keys that query q sees: [first, last).
INLINE int first_key(const Block& m, int q) {
    const int j = m.positions - m.queries + q - m.context + 1;
    return j > 0 ? j : 0;
}
INLINE int last_key(const Block& m, int q) { return m.positions - m.queries + q + 1; }
// Keys that some query of the group of eight from q on sees: [first_key(q), last_key_of_group(q)).
INLINE int last_key_of_group(const Block& m, int q) { return q + 8 < m.queries ? last_key(m, q + 7) : m.positions; }

INLINE long weight_at(const Block& m, int head, int key) {
    return ((long)head * m.keys_pitch + key) * m.queries_pitch;
}

// Logits of key j for the group of eight queries from q on: minus infinity where hidden, zero in the pads, which must
// only stay finite.
INLINE Eight visible(const Block& m, int j, int q, Eight scores) {
    const EightInts lane = EightInts{0, 1, 2, 3, 4, 5, 6, 7} + q;
    scores = (lane < first_query(m, j)) | (lane >= last_query(m, j)) ? splat<Eight>(-INFINITY) : scores;
    return lane >= m.queries ? Eight{} : scores;
}
constexpr int QUAD = 4;  // heads that lie side by side in the score table: one lookup serves all of them

// Whether weights are [four heads, key, query, head] (kernel_quads.h): where few lanes would have no head.
INLINE bool in_quads(const Block& m) {
    const int lanes = (m.heads + QUAD - 1) / QUAD * QUAD;
    return m.source == TABLES && !m.drops[ATTENTION].threshold && 4 * m.heads >= 3 * lanes;
}
// Where a head's weights of a key begin, how far its next query is, and how many numbers a sequence has.
INLINE long weights_from(const Block& m, int head, int key) {
    if (!in_quads(m)) return weight_at(m, head, key);
    return ((long)(head / QUAD) * m.keys_pitch + key) * m.queries_pitch * QUAD + head % QUAD;
}
INLINE long next_query(const Block& m) { return in_quads(m) ? QUAD : 1; }
INLINE long weights_size(const Block& m) {
    return weights_from(m, in_quads(m) ? (m.heads + QUAD - 1) / QUAD * QUAD : m.heads, 0);
}

INLINE long score_row(const Block& m, int head, long row) {
    return (head / QUAD * m.rows + row) * (long)m.score_pitch * QUAD;
}

// Where the queries' tokens lie in a row of the score table. Pads point at the first column.
static void query_columns(const Block& m, const int64_t* tokens, int32_t* columns) {
    for (int q = 0; q < m.queries; q++) columns[q] = QUAD * (int32_t)tokens[m.positions - m.queries + q];
}

// Eight queries of four heads: from pairs of queries, heads side by side, to a vector of queries for each head.
INLINE void part_heads(const Eight pairs[4], Eight heads[QUAD]) {
    const Eight a = SHUFFLE_EIGHT(pairs[0], pairs[1], 0, 4, 8, 12, 1, 5, 9, 13);
    const Eight b = SHUFFLE_EIGHT(pairs[0], pairs[1], 2, 6, 10, 14, 3, 7, 11, 15);
    const Eight c = SHUFFLE_EIGHT(pairs[2], pairs[3], 0, 4, 8, 12, 1, 5, 9, 13);
    const Eight d = SHUFFLE_EIGHT(pairs[2], pairs[3], 2, 6, 10, 14, 3, 7, 11, 15);
    heads[0] = SHUFFLE_EIGHT(a, c, 0, 1, 2, 3, 8, 9, 10, 11);
    heads[1] = SHUFFLE_EIGHT(a, c, 4, 5, 6, 7, 12, 13, 14, 15);
    heads[2] = SHUFFLE_EIGHT(b, d, 0, 1, 2, 3, 8, 9, 10, 11);
    heads[3] = SHUFFLE_EIGHT(b, d, 4, 5, 6, 7, 12, 13, 14, 15);
}

// The way back.
INLINE void join_heads(const Eight heads[QUAD], Eight pairs[4]) {
    const Eight a = SHUFFLE_EIGHT(heads[0], heads[1], 0, 8, 1, 9, 2, 10, 3, 11);
    const Eight b = SHUFFLE_EIGHT(heads[2], heads[3], 0, 8, 1, 9, 2, 10, 3, 11);
    const Eight c = SHUFFLE_EIGHT(heads[0], heads[1], 4, 12, 5, 13, 6, 14, 7, 15);
    const Eight d = SHUFFLE_EIGHT(heads[2], heads[3], 4, 12, 5, 13, 6, 14, 7, 15);
    pairs[0] = SHUFFLE_EIGHT(a, b, 0, 1, 8, 9, 2, 3, 10, 11);
    pairs[1] = SHUFFLE_EIGHT(a, b, 4, 5, 12, 13, 6, 7, 14, 15);
    pairs[2] = SHUFFLE_EIGHT(c, d, 0, 1, 8, 9, 2, 3, 10, 11);
    pairs[3] = SHUFFLE_EIGHT(c, d, 4, 5, 12, 13, 6, 7, 14, 15);
}

// Attention logits: the sum of four table entries; minus infinity where hidden.
static void gather_scores(const Block& m, const int64_t* tokens, const int32_t* columns, float* scores) {
    for (int first = 0; first < m.heads; first += QUAD)
        for (int j = 0; j < m.positions; j++) {
            const float* by_token = m.score + score_row(m, first, tokens[j]);
            const float* by_position = m.score + score_row(m, first, m.token_rows + j);
            const long positions = QUAD * (long)m.tokens_pitch;
            const int last = last_query(m, j);
            for (int g = first_query(m, j) / 8 * 8; g < last; g += 8) {
                Eight pairs[4], heads[QUAD];
                UNROLL
                for (int i = 0; i < 4; i++) {
                    const long a = columns[g + 2 * i], b = columns[g + 2 * i + 1], at = positions + QUAD * (g + 2 * i);
                    const Four x = load<Four>(by_token + a) + load<Four>(by_position + a);
                    const Four y = load<Four>(by_token + b) + load<Four>(by_position + b);
                    pairs[i] = JOIN_FOURS(x, y) + (load<Eight>(by_token + at) + load<Eight>(by_position + at));
                }
                part_heads(pairs, heads);
                UNROLL
                for (int h = 0; h < QUAD; h++)
                    if (first + h < m.heads) store(scores + weight_at(m, first + h, j) + g, visible(m, j, g, heads[h]));
            }
        }
}

// Softmax over keys, in place. Adds the entropies of the last `counted` queries to `entropy[head]` when asked.
static void softmax_keys(const Block& m, float* scores, double* entropy, int counted) {
    for (int h = 0; h < m.heads; h++)
        for (int g = 0; g < m.queries; g += 8) {
            float* column = scores + weight_at(m, h, 0) + g;
            const int begin = first_key(m, g), end = last_key_of_group(m, g);
            const long pitch = m.queries_pitch;
            Eight top = load<Eight>(column + begin * pitch);
            for (int j = begin + 1; j < end; j++) {
                const Eight x = load<Eight>(column + j * pitch);
                top = x > top ? x : top;
            }
            Eight sum = {}, weighted = {};
            for (int j = begin; j < end; j++) {
                const Eight x = load<Eight>(column + j * pitch) - top;
                const Eight e = exponential<Eight, EightInts>(x);
                sum += e;
                if (entropy) weighted += x < -87.0f ? Eight{} : e * x;
                store(column + j * pitch, e);
            }
            const Eight inverse = 1.0f / sum;
            for (int j = 0; j < begin; j++) store(column + j * pitch, Eight{});
            for (int j = begin; j < end; j++) store(column + j * pitch, load<Eight>(column + j * pitch) * inverse);
            for (int j = end; j < m.positions; j++) store(column + j * pitch, Eight{});
            if (entropy) {
                // One logarithm serves all eight: each sum is between 1 and the number of keys.
                double sums = 1, means = 0;
                for (int q = 0; q < 8 && g + q < m.queries; q++)
                    if (g + q >= m.queries - counted)
                        sums *= (double)sum[q], means += (double)weighted[q] / (double)sum[q];
                entropy[h] += std::log(sums) - means;
            }
        }
}

// Eight rows of eight 16-bit lanes become eight columns, in three rounds of exchanges.
INLINE void transpose_lanes(const uint16_t* from, long pitch, EightShorts out[8]) {
    EightShorts a[8], b[8];
    UNROLL
    for (int i = 0; i < 8; i++) a[i] = load<EightShorts>(from + i * pitch);
    UNROLL
    for (int i = 0; i < 4; i++) {
        b[2 * i] = SHUFFLE_SHORTS(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        b[2 * i + 1] = SHUFFLE_SHORTS(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        a[2 * i] = SHUFFLE_SHORTS(b[i], b[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        a[2 * i + 1] = SHUFFLE_SHORTS(b[i], b[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        out[2 * i] = SHUFFLE_SHORTS(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        out[2 * i + 1] = SHUFFLE_SHORTS(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
}

// A dropped weight is remembered by its sign: weights are never negative. `keep` is [head, query, key]; what is read
// beyond a head's queries and keys changes the sign of zeros and of pads that nobody reads.
static void drop_attention(const Block& m, const uint16_t* keep, float* weights) {
    const EightInts sign = (EightInts)(-Eight{});
    for (int h = 0; h < m.heads; h++)
        for (int j = 0; j < m.positions; j += 8) {
            const int last = j + 8 < m.positions ? j + 8 : m.positions;
            for (int q = first_query(m, j) / 8 * 8; q < last_query(m, last - 1); q += 8) {
                EightShorts kept[8];
                transpose_lanes(keep + ((long)h * m.queries + q) * m.positions + j, m.positions, kept);
                float* out = weights + weight_at(m, h, j) + q;
                UNROLL
                for (int i = 0; i < 8; i++)
                    if (j + i < last) {
                        const EightInts w = load<EightInts>(out + i * (long)m.queries_pitch);
                        const EightInts dropped = ~__builtin_convertvector(kept[i], EightInts);
                        store(out + i * (long)m.queries_pitch, w | (dropped & sign));
                    }
            }
        }
}

// Logits of one head that were products: relative scores added, minus infinity where hidden.
static void finish_scores(const Block& m, int head, float* scores) {
    for (int j = 0; j < m.positions; j++) {
        float* row = scores + (long)j * m.queries_pitch;
        const float* lag = m.lag ? m.lag + weight_at(m, head, j) : nullptr;
        for (int q = first_query(m, j) / 8 * 8; q < last_query(m, j); q += 8) {
            const Eight x = load<Eight>(row + q);
            store(row + q, visible(m, j, q, lag ? x + load<Eight>(lag + q) : x));
        }
    }
}

static void keep_positive(const float* from, long count, float* to) {
    for (long i = 0; i < count; i += 8) {
        const Eight x = load<Eight>(from + i);
        store(to + i, x < 0.0f ? Eight{} : x);
    }
}
// From gradients of the mixed weights to gradients of the logits, in place. `weights` carries drops as signs.
static void softmax_gradients(const Block& m, const float* weights, float* grads) {
    for (int h = 0; h < m.heads; h++)
        for (int g = 0; g < m.queries; g += 8) {
            const long base = weight_at(m, h, 0) + g, pitch = m.queries_pitch;
            const int begin = first_key(m, g), end = last_key_of_group(m, g);
            for (int j = 0; j < begin; j++) store(grads + base + j * pitch, Eight{});
            for (int j = end; j < m.positions; j++) store(grads + base + j * pitch, Eight{});
            Eight mean = {};
            for (int j = begin; j < end; j++) {
                const Eight a = load<Eight>(weights + base + j * pitch);
                mean += (a < 0.0f ? Eight{} : a) * load<Eight>(grads + base + j * pitch);
            }
            for (int j = begin; j < end; j++) {
                const Eight a = load<Eight>(weights + base + j * pitch);
                const Eight d = load<Eight>(grads + base + j * pitch);
                const Eight through = a < 0.0f ? Eight{} : d;
                const Eight size = a < 0.0f ? -a : a;
                store(grads + base + j * pitch, size * (through - mean));
            }
        }
}

// `row` has room for one key's gradients, heads side by side.
static void scatter_scores(const Block& m, const int64_t* tokens, const int32_t* columns, const float* grads, float* row,
                           float* table) {
    for (int first = 0; first < m.heads; first += QUAD)
        for (int j = 0; j < m.positions; j++) {
            float* by_token = table + score_row(m, first, tokens[j]);
            float* by_position = table + score_row(m, first, m.token_rows + j);
            const int begin = first_query(m, j), end = last_query(m, j);
            for (int g = begin / 8 * 8; g < end; g += 8) {
                Eight pairs[4], heads[QUAD];
                UNROLL
                for (int h = 0; h < QUAD; h++)
                    heads[h] = first + h < m.heads ? load<Eight>(grads + weight_at(m, first + h, j) + g) : Eight{};
                join_heads(heads, pairs);
                UNROLL
                for (int i = 0; i < 4; i++) store(row + QUAD * (g + 2 * i), pairs[i]);
            }
            const long positions = QUAD * (long)m.tokens_pitch;
            for (int q = begin / 2 * 2; q < end; q += 2) {
                const Eight pair = load<Eight>(row + QUAD * q);
                add_to(by_token + positions + QUAD * q, pair);
                add_to(by_position + positions + QUAD * q, pair);
            }
            for (int q = begin; q < end; q++) {
                const Four d = load<Four>(row + QUAD * q);
                add_to(by_token + columns[q], d);
                add_to(by_position + columns[q], d);
            }
        }
}
